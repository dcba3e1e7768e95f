# Whether libcohort_cuda is built: where there is an nvcc that compiles C++20 with our compiler, unless somebody says otherwise.

# The one that CMAKE_CUDA_COMPILER or CUDACXX names, else the first on the PATH or where the toolkit installs itself.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(CMAKE_CUDA_COMPILER)
endif()

function(cohort_find_cuda found)
  set(compiler ${CMAKE_CUDA_COMPILER})
  if(NOT compiler)
    set(compiler $ENV{CUDACXX})
  endif()
  set(${found} OFF PARENT_SCOPE)
  if(compiler)
    execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND text MATCHES "release ([0-9.]+)")
      if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL 13)
        set(${found} ON PARENT_SCOPE)
      else()
        message(STATUS "CUDA is left out: nvcc 13 or newer is expected, and ${compiler} is ${CMAKE_MATCH_1}")
      endif()
    endif()
  endif()
endfunction()

if(COHORT_SANITIZE)
  set(cuda_found OFF)  # its programs are looked at by compute-sanitizer
elseif(NOT DEFINED COHORT_CUDA)
  cohort_find_cuda(cuda_found)
endif()
option(COHORT_CUDA "Build the CUDA device and kernels (libcohort_cuda)" ${cuda_found})
if(COHORT_CUDA AND COHORT_SANITIZE)
  message(FATAL_ERROR "COHORT_CUDA: must be OFF under a sanitizer. Received: COHORT_SANITIZE=${COHORT_SANITIZE}. "
                      "Build it in another folder.")
endif()
if(NOT COHORT_CUDA)
  unset(CMAKE_CUDA_COMPILER CACHE)
endif()
