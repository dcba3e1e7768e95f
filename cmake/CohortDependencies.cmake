# Third-party libraries, found and never downloaded, and which room gets which.

find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL)  # addresses in place of paths of data; refused where it is not there
find_package(LibArchive)  # WebDataset's tar files; refused where it is not there
find_path(LMDB_INCLUDE_DIR lmdb.h)
find_library(LMDB_LIBRARY lmdb)  # LMDB environments; likewise
find_path(IPSEC_MB_INCLUDE_DIR intel-ipsec-mb.h)
find_library(IPSEC_MB_LIBRARY IPSec_MB)  # x86-64 alone; without it OpenSSL encrypts
find_package(CLI11 REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The distribution's CMake packages for these two are absent, or ask for programs that nobody here needs.
function(cohort_find_library target header library)
  string(TOUPPER ${target} name)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN} REQUIRED)
  find_library(${name}_LIBRARY ${library} PATH_SUFFIXES ${ARGN} REQUIRED)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${${name}_INCLUDE_DIR})
  target_link_libraries(${target} INTERFACE ${${name}_LIBRARY})
endfunction()
cohort_find_library(cohort_zip zip.h zip)

add_library(cohort_hdf5 INTERFACE)
target_include_directories(cohort_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(cohort_hdf5 INTERFACE ${HDF5_C_LIBRARIES})

file(GLOB_RECURSE rpc_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/distribute/rpc/*.cpp
     ${PROJECT_SOURCE_DIR}/distribute/rpc/*.proto)
if(rpc_files)
  find_package(gRPC CONFIG REQUIRED)
endif()

if(COHORT_CUDA)
  if(COHORT_CUDA_UNOPTIMIZED)
    set(CMAKE_CUDA_ARCHITECTURES 90-virtual)
    string(APPEND CMAKE_CUDA_FLAGS " --device-debug")
  elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  enable_language(CUDA)
  # CMake 3.25 knows of no nvcc that compiles C++20, and asks for it while it tries the compiler if it is set before.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  # Nor does it see that nvcc's host compiler has folders of its own, which -isystem would bring out of order.
  list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  find_package(CUDAToolkit REQUIRED)
endif()

set(COHORT_COMMON_LIBS Threads::Threads protobuf::libprotobuf nlohmann_json::nlohmann_json spdlog::spdlog)
set(COHORT_LIBS_kernels Eigen3::Eigen)
set(COHORT_LIBS_files cohort_zip PNG::PNG ZLIB::ZLIB)
if(CURL_FOUND)
  list(APPEND COHORT_LIBS_files CURL::libcurl)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/framework/files/http_client.cpp PROPERTIES COMPILE_DEFINITIONS
                              COHORT_HAS_CURL)
endif()
set(COHORT_LIBS_saving cohort_hdf5 ZLIB::ZLIB)
set(COHORT_LIBS_datasets JPEG::JPEG PNG::PNG ZLIB::ZLIB)
if(LibArchive_FOUND)
  list(APPEND COHORT_LIBS_datasets LibArchive::LibArchive)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/datasets/sources/tar_members.cpp PROPERTIES COMPILE_DEFINITIONS
                              COHORT_HAS_ARCHIVE)
endif()
if(LMDB_INCLUDE_DIR AND LMDB_LIBRARY)
  add_library(cohort_lmdb INTERFACE)
  target_include_directories(cohort_lmdb SYSTEM INTERFACE ${LMDB_INCLUDE_DIR})
  target_link_libraries(cohort_lmdb INTERFACE ${LMDB_LIBRARY})
  list(APPEND COHORT_LIBS_datasets cohort_lmdb)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/datasets/sources/lmdb.cpp PROPERTIES COMPILE_DEFINITIONS
                              COHORT_HAS_LMDB)
endif()
set(COHORT_LIBS_rpc gRPC::grpc++ OpenSSL::SSL)
if(IPSEC_MB_INCLUDE_DIR AND IPSEC_MB_LIBRARY)
  add_library(cohort_ipsec_mb INTERFACE)
  target_include_directories(cohort_ipsec_mb SYSTEM INTERFACE ${IPSEC_MB_INCLUDE_DIR})
  target_link_libraries(cohort_ipsec_mb INTERFACE ${IPSEC_MB_LIBRARY})
  list(APPEND COHORT_LIBS_rpc cohort_ipsec_mb)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/distribute/rpc/wide_cipher.cpp PROPERTIES COMPILE_DEFINITIONS
                              COHORT_HAS_IPSEC_MB)
endif()
set(COHORT_LIBS_cluster OpenSSL::Crypto)
set(COHORT_LIBS_distribute gRPC::grpc++)  # of its tests, which also speak to servers without our client
# Nothing that a machine without a GPU lacks: the driver, cuBLASLt, cuDNN and NVRTC are loaded when they are first needed.
set(COHORT_LIBS_cuda CUDA::cudart_static)
