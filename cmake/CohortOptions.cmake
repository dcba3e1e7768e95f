# Options, flags and the compiler cache.

option(COHORT_CUDA "Build the CUDA kernels and device" OFF)
option(COHORT_NCCL "Build the NCCL collectives" ${COHORT_CUDA})
option(COHORT_TESTS "Build the tests" ON)
option(COHORT_EXAMPLES "Build the examples" ON)
option(COHORT_WERROR "Treat warnings as errors" OFF)
set(COHORT_SANITIZE "" CACHE STRING "Sanitizer: address (with undefined), undefined, thread, or empty")
set_property(CACHE COHORT_SANITIZE PROPERTY STRINGS "" address undefined thread)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

add_library(cohort_flags INTERFACE)
# Without contraction fused and unfused code give the same bits on every machine.
target_compile_options(cohort_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -ffp-contract=off -fno-math-errno>)
if(COHORT_WERROR)
  target_compile_options(cohort_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(COHORT_SANITIZE STREQUAL "address")
  set(sanitizers address,undefined)
elseif(COHORT_SANITIZE MATCHES "^(undefined|thread)$")
  set(sanitizers ${COHORT_SANITIZE})
elseif(NOT COHORT_SANITIZE STREQUAL "")
  message(FATAL_ERROR "COHORT_SANITIZE: must be address, undefined, thread or empty. "
                      "Received: COHORT_SANITIZE=${COHORT_SANITIZE}.")
endif()
if(sanitizers)
  target_compile_options(cohort_flags INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(cohort_flags INTERFACE -fsanitize=${sanitizers})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Relative paths let every clone and work tree share one cache.
  foreach(language C CXX CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
        CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  endforeach()
endif()
