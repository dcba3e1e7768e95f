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
option(COHORT_CUDA_UNOPTIMIZED "Compile CUDA sources in half the time, to see that they do rather than to run them" OFF)

# cuDNN's frontend, headers that describe attention to cuDNN: in the folder that COHORT_CUDNN_FRONTEND names, else where
# tools/setup puts them or the compiler finds them.
if(COHORT_CUDA)
  if(COHORT_CUDNN_FRONTEND AND NOT EXISTS ${COHORT_CUDNN_FRONTEND}/cudnn_frontend.h)
    message(FATAL_ERROR "COHORT_CUDNN_FRONTEND: must be the folder of cudnn_frontend.h. "
                        "Received: COHORT_CUDNN_FRONTEND=${COHORT_CUDNN_FRONTEND}. Name another one, or none.")
  endif()
  find_path(COHORT_CUDNN_FRONTEND cudnn_frontend.h HINTS ${PROJECT_SOURCE_DIR}/build/cudnn-frontend/include
            DOC "Folder of cudnn_frontend.h")
  if(NOT COHORT_CUDNN_FRONTEND)
    message(STATUS "Attention is left to own kernels: cudnn_frontend.h is not found. tools/setup brings it")
  endif()
endif()

# NCCL's header, in the folder that COHORT_NCCL_INCLUDE names (OFF leaves NCCL out), else beside CUDA's or where the compiler
# finds it. The library is loaded when it is first needed.
set(COHORT_NCCL OFF)
if(COHORT_CUDA)
  get_filename_component(cuda_bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
  find_path(COHORT_NCCL_INCLUDE nccl.h HINTS ${cuda_bin}/../include DOC "Folder of nccl.h")
  if(COHORT_NCCL_INCLUDE)
    set(COHORT_NCCL ON)
  else()
    message(STATUS "NCCL is left out: nccl.h is not found. COHORT_NCCL_INCLUDE names its folder")
  endif()
endif()

# cohort_use_cudnn_frontend(<variable>): compiles the one source of this list that includes the frontend as it needs, or
# takes it out where there is no frontend.
function(cohort_use_cudnn_frontend variable)
  set(sources ${${variable}})
  set(users ${sources})
  list(FILTER users INCLUDE REGEX "/attention_cudnn\\.cpp$")
  if(COHORT_CUDNN_FRONTEND)
    # Its functions stay inside our module, for another one in the process may have them from another version. Optimised it
    # takes up to twice as long and gains nothing: it describes graphs, once each.
    set_source_files_properties(${users} PROPERTIES
        COMPILE_OPTIONS "-isystem;${COHORT_CUDNN_FRONTEND};-fvisibility=hidden;-O0")
  else()
    list(REMOVE_ITEM sources ${users})
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# Sources that instantiate much: each is compiled by itself.
set(COHORT_CUDA_COMPILED_ALONE attention_gradient attention_half_gradient elementwise_binary elementwise_unary optimizer_updates
    radix_sort random reduce)

# cohort_compile_cuda_together(<variable>): with COHORT_UNITY, puts sources that include several .cu files of this list in their
# place; most of the time of one goes into headers. CMake does this by itself for CUDA from 3.31 on.
function(cohort_compile_cuda_together variable)
  if(NOT COHORT_UNITY)
    return()
  endif()
  set(at_once 8)
  set(count 0)
  set(sources)
  set(units)
  foreach(source ${${variable}})
    get_filename_component(name ${source} NAME_WE)
    if(NOT source MATCHES "/kernels/cuda/[^/]+\\.cu$" OR name IN_LIST COHORT_CUDA_COMPILED_ALONE)
      list(APPEND sources ${source})
      continue()
    endif()
    math(EXPR number "${count} / ${at_once}")
    math(EXPR count "${count} + 1")
    list(APPEND units ${number})
    string(APPEND text_${number} "#include \"${source}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES units)
  foreach(number ${units})
    set(unit ${PROJECT_BINARY_DIR}/cuda_unity/unity_${number}.cu)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text_${number}}" @ONLY)
    list(APPEND sources ${unit})
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
