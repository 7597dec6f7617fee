# The cuda backend, where a CUDA toolkit is found.  Included by kernels/CMakeLists.txt; sets
# pk_cuda_absent to the reason where the backend is not built, for the table of backends.
#
# pk_cuda_plan is C and always built, since a test runs it on the host.  Device code is compiled by
# a plain call of nvcc, not as a CMake language: that way it is the C compiler that links, with its
# own sanitizers, and a machine without a toolkit needs nothing.

set(PSIM_WITH_CUDA AUTO CACHE STRING "The cuda backend: AUTO, ON or OFF")
set(PSIM_WITH_CUDNN AUTO CACHE STRING "Convolutions of the cuda backend by cuDNN: AUTO, ON or OFF")
set(PSIM_CUDA_ARCHITECTURES "80;90" CACHE STRING
  "Compute capabilities, without the dot, to compile device code for; the last also as PTX")
set(PSIM_CUDA_HOST_COMPILER "" CACHE STRING
  "nvcc's host compiler, where it does not take the newest; empty: nvcc's own choice")

file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.c")
add_library(pk_cuda_plan STATIC ${sources})
target_include_directories(pk_cuda_plan PUBLIC "${psim_source_root}")
target_link_libraries(pk_cuda_plan PUBLIC psim_base m PRIVATE psim_flags)

set(pk_cuda_absent "")
if(PSIM_WITH_CUDA STREQUAL "OFF")
  set(pk_cuda_absent "left out by PSIM_WITH_CUDA=OFF")
  message(STATUS "cuda backend: ${pk_cuda_absent}")
  return()
endif()

find_program(PSIM_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
             PATHS /usr/local/cuda/bin /opt/cuda/bin)
if(PSIM_NVCC)
  file(REAL_PATH "${PSIM_NVCC}" nvcc)
  get_filename_component(toolkit "${nvcc}/../.." ABSOLUTE)
  set(places "${toolkit}" "${toolkit}/targets/x86_64-linux" "${toolkit}/targets/sbsa-linux")
  find_path(PSIM_CUDA_INCLUDE cuda_runtime_api.h PATHS ${places} PATH_SUFFIXES include
            NO_DEFAULT_PATH)
  find_path(PSIM_CUBLAS_INCLUDE cublas_v2.h HINTS ${places} PATH_SUFFIXES include)
  foreach(library IN ITEMS cudart_static cublas)
    find_library(PSIM_${library} ${library} HINTS ${places} PATH_SUFFIXES lib64 lib)
  endforeach()
  # Not part of the toolkit: the backend is built without it too.
  find_path(PSIM_CUDNN_INCLUDE cudnn.h HINTS ENV CUDNN_HOME ${places} PATH_SUFFIXES include)
  find_library(PSIM_cudnn cudnn HINTS ENV CUDNN_HOME ${places} PATH_SUFFIXES lib64 lib)
  foreach(part IN ITEMS PSIM_CUDA_INCLUDE PSIM_CUBLAS_INCLUDE PSIM_cudart_static PSIM_cublas)
    if(NOT ${part})
      set(pk_cuda_absent "the CUDA toolkit of ${nvcc} is not complete: no ${part}")
    endif()
  endforeach()
else()
  set(pk_cuda_absent "no CUDA toolkit was found when this was built")
endif()
if(pk_cuda_absent)
  if(PSIM_WITH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PSIM_WITH_CUDA=ON, but ${pk_cuda_absent}")
  endif()
  message(STATUS "cuda backend: ${pk_cuda_absent}")
  return()
endif()

set(codes "")
foreach(arch IN LISTS PSIM_CUDA_ARCHITECTURES)
  list(APPEND codes -gencode "arch=compute_${arch},code=sm_${arch}")
endforeach()
list(GET PSIM_CUDA_ARCHITECTURES -1 arch)
list(APPEND codes -gencode "arch=compute_${arch},code=compute_${arch}")
set(host -fPIC,-Wall,-Wextra,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics)
if(PSIM_WERROR)
  list(APPEND codes -Werror all-warnings)
  string(APPEND host ",-Werror")
endif()
if(PSIM_CUDA_HOST_COMPILER)
  list(APPEND codes -ccbin "${PSIM_CUDA_HOST_COMPILER}")
endif()
set(source "${CMAKE_CURRENT_SOURCE_DIR}/cuda/machine/cuda_kernels.cu")
set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda_kernels.o")
add_custom_command(OUTPUT "${object}"
  COMMAND "${PSIM_NVCC}" -c -std=c++17 -O3 ${codes} --threads 2 "-Xcompiler=${host}"
          "-I${psim_source_root}" -MD -MT "${object}" -MF "${object}.d" -o "${object}" "${source}"
  DEPENDS "${source}" DEPFILE "${object}.d"
  COMMENT "Building CUDA object for sm ${PSIM_CUDA_ARCHITECTURES}" VERBATIM)

set(pk_has_cudnn FALSE)
if(NOT PSIM_WITH_CUDNN STREQUAL "OFF" AND PSIM_CUDNN_INCLUDE AND PSIM_cudnn)
  set(pk_has_cudnn TRUE)
elseif(PSIM_WITH_CUDNN STREQUAL "ON")
  message(FATAL_ERROR "PSIM_WITH_CUDNN=ON, but cuDNN was not found")
endif()
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cuda/machine/*.c")
if(NOT pk_has_cudnn)
  list(FILTER sources EXCLUDE REGEX "cuda_cudnn[.]c$")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
add_library(pk_cuda STATIC ${sources} "${object}")
set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
target_include_directories(pk_cuda SYSTEM PRIVATE "${PSIM_CUDA_INCLUDE}" "${PSIM_CUBLAS_INCLUDE}")
target_link_libraries(pk_cuda PUBLIC pk_cuda_plan "${PSIM_cublas}" "${PSIM_cudart_static}"
                      Threads::Threads ${CMAKE_DL_LIBS} rt PRIVATE psim_flags)
if(pk_has_cudnn)
  target_include_directories(pk_cuda SYSTEM PRIVATE "${PSIM_CUDNN_INCLUDE}")
  target_compile_definitions(pk_cuda PRIVATE PK_HAS_CUDNN)
  # cuDNN 9 calls the interface that both versions share deprecated.
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/cuda/machine/cuda_cudnn.c"
    PROPERTIES COMPILE_OPTIONS -Wno-deprecated-declarations)
  target_link_libraries(pk_cuda PUBLIC "${PSIM_cudnn}")
  set(with "with cuDNN")
else()
  set(with "without cuDNN")
endif()
list(APPEND pk_backends pk_cuda)
message(STATUS "cuda backend: ${nvcc}, sm ${PSIM_CUDA_ARCHITECTURES}, ${with}")
