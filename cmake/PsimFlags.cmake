# What every target of ours is compiled with: psim_flags, never exported.
option(PSIM_WERROR "Treat warnings as errors" OFF)
set(PSIM_SANITIZE "" CACHE STRING "Sanitizers: address, undefined, or both separated by a comma")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# The root of the project, which is not that of the build of tests/gpu.
get_filename_component(psim_source_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

# __FILE__ is cut to the path inside the project, so that what is built does not depend on where it
# was built.
add_library(psim_flags INTERFACE)
target_compile_options(psim_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off
  "-fmacro-prefix-map=${psim_source_root}/="
  $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes>
  $<$<BOOL:${PSIM_WERROR}>:-Werror>)
target_compile_definitions(psim_flags INTERFACE _POSIX_C_SOURCE=200809L _XOPEN_SOURCE=700
  PSIM_VERSION="${PROJECT_VERSION}")
if(PSIM_SANITIZE)
  target_compile_options(psim_flags INTERFACE -fsanitize=${PSIM_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(psim_flags INTERFACE -fsanitize=${PSIM_SANITIZE})
endif()
