# Options, flags and the compiler cache.

option(COHORT_TESTS "Build the tests" ON)
option(COHORT_EXAMPLES "Build the examples" ON)
option(COHORT_UNITY "Compile sources of a folder several at a time: a clean build takes half the time" OFF)
# The more at a time, the shorter a clean build and the longer the next one after a change.
set(COHORT_SOURCES_AT_ONCE 12 CACHE STRING "How many sources of a folder COHORT_UNITY compiles at a time")
set(COHORT_TESTS_AT_ONCE 24 CACHE STRING "The same of tests, which include more than they say")
option(COHORT_WERROR "Treat warnings as errors" OFF)
set(COHORT_SANITIZE "" CACHE STRING "Sanitizer: address (with undefined), undefined, thread, or empty")
set_property(CACHE COHORT_SANITIZE PROPERTY STRINGS "" address undefined thread)

include(CohortCuda)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

include(GNUInstallDirs)
file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/${bin_to_lib}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
# CMake forgets link paths that lie inside the source tree, as a sysroot/ there does.
foreach(prefix ${CMAKE_PREFIX_PATH})
  list(APPEND CMAKE_INSTALL_RPATH ${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endforeach()

# Everything of ours is compiled with these and nothing of them reaches a user of the library.
add_library(cohort_flags INTERFACE)
function(cohort_add_flags)
  list(TRANSFORM ARGN PREPEND -Xcompiler= OUTPUT_VARIABLE host_flags)
  target_compile_options(cohort_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>"
                         "$<$<COMPILE_LANGUAGE:CUDA>:${host_flags}>")
endfunction()
# Of those, what nvcc itself is told: no contraction either, and silence on comparisons of unsigned numbers with zero, which
# templates over all types of elements are full of.
target_compile_options(cohort_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;--fmad=false;-diag-suppress=186>")

# Without contraction, fused and unfused code give the same bits on every machine.
cohort_add_flags(-Wall -Wextra -ffp-contract=off -fno-math-errno)
# Some libraries ask it of whoever uses them. A precompiled header serves only those who agree on it; one that does not
# serve costs time and is no fault.
cohort_add_flags(-pthread -Wno-error=invalid-pch)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # g++ 12 sees overlapping copies in every "literal" + std::string (its bug 105651).
  cohort_add_flags(-Wno-restrict)
  if(COHORT_SANITIZE)  # and under a sanitizer, values of a std::variant or std::regex that are not set
    cohort_add_flags(-Wno-maybe-uninitialized)
  endif()
endif()
if(COHORT_WERROR)
  cohort_add_flags(-Werror)
endif()

# std::source_location then names files as they are called in the tree, whatever the clone's folder. Sources and headers
# are seen by absolute path, or relative to the build folder when the compiler cache rewrites them.
file(RELATIVE_PATH build_to_source ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
foreach(prefix ${PROJECT_SOURCE_DIR} ${build_to_source} ${PROJECT_BINARY_DIR}/include include)
  string(REGEX REPLACE "/$" "" prefix ${prefix})
  cohort_add_flags(-fmacro-prefix-map=${prefix}/=)
endforeach()

if(COHORT_SANITIZE STREQUAL "address")
  # Two thirds of the time that the checks for undefined behaviour take to compile go into those of every pointer, whose
  # faults nearly always end at an address that is looked at anyway; the sanitizer `undefined` has them all. Calls in place of code
  # at each access compile in half the time.
  set(sanitizers address,undefined)
  set(sanitizer_flags -fno-sanitize=null,alignment,object-size,pointer-overflow,vptr,nonnull-attribute,returns-nonnull-attribute
      "SHELL:--param asan-instrumentation-with-call-threshold=0")
elseif(COHORT_SANITIZE MATCHES "^(undefined|thread)$")
  set(sanitizers ${COHORT_SANITIZE})
elseif(NOT COHORT_SANITIZE STREQUAL "")
  message(FATAL_ERROR "COHORT_SANITIZE: must be address, undefined, thread or empty. "
                      "Received: COHORT_SANITIZE=${COHORT_SANITIZE}. Choose one of them, or a preset.")
endif()
if(sanitizers)
  # Assertions stay on, and light optimisation keeps both the build and the run within CI's time.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  cohort_add_flags(-fsanitize=${sanitizers} ${sanitizer_flags} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(cohort_flags INTERFACE -fsanitize=${sanitizers})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # With relative paths every clone and work tree shares one cache.
  cohort_add_flags(-fdebug-prefix-map=${PROJECT_BINARY_DIR}=.)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${PROJECT_SOURCE_DIR}/cmake/compile_with_ccache.sh ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()
