# The install target: program, library, headers, catalogues, and what other projects need to find
# them.  An installed tree may be moved: every path in it is relative to the file that holds it.
include(CMakePackageConfigHelpers)

set(psim_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/petrasim")
set(psim_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS petrasim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS petrasim_library EXPORT petrasimTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(folder IN LISTS psim_library_folders)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sim/${folder}/*.h")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/petrasim/sim/${folder}")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/platforms" "${PROJECT_SOURCE_DIR}/scenarios"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/petrasim")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT petrasimTargets NAMESPACE petrasim:: DESTINATION "${psim_config_dir}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/petrasimConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/petrasimConfig.cmake" INSTALL_DESTINATION "${psim_config_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break callers.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/petrasimConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/petrasimConfig.cmake"
              "${PROJECT_BINARY_DIR}/petrasimConfigVersion.cmake"
        DESTINATION "${psim_config_dir}")

file(RELATIVE_PATH psim_pc_to_prefix "/${psim_pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" psim_pc_to_prefix "${psim_pc_to_prefix}")
set(psim_pc_requires ${PSIM_NEEDS_JANSSON} ${PSIM_NEEDS_LIBMD} ${PSIM_NEEDS_SIMGRID}
                     ${PSIM_NEEDS_EXPAT} ${PSIM_NEEDS_SQLITE})
list(JOIN psim_pc_requires ", " psim_pc_requires)
string(REPLACE ">=" " >= " psim_pc_requires "${psim_pc_requires}")
# MPI's own .pc files have other names in each implementation: the libraries are given as found.
set(psim_pc_mpi)
if(psim_mpi_targets)
  foreach(library IN LISTS MPI_C_LIBRARIES)
    string(APPEND psim_pc_mpi " ${library}")
  endforeach()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/petrasim.pc.in" "${PROJECT_BINARY_DIR}/petrasim.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/petrasim.pc" DESTINATION "${psim_pkgconfig_dir}")
