# Third-party libraries, found and never downloaded, and which room gets which.

find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
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
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
endif()

set(COHORT_COMMON_LIBS Threads::Threads protobuf::libprotobuf nlohmann_json::nlohmann_json spdlog::spdlog)
set(COHORT_LIBS_kernels Eigen3::Eigen)
set(COHORT_LIBS_files cohort_zip PNG::PNG ZLIB::ZLIB)
set(COHORT_LIBS_saving cohort_hdf5)
set(COHORT_LIBS_datasets ZLIB::ZLIB)
set(COHORT_LIBS_rpc gRPC::grpc++)
set(COHORT_LIBS_distribute gRPC::grpc++)  # of its tests, which also speak to servers without our client
set(COHORT_LIBS_cuda CUDA::cudart CUDA::cublasLt CUDA::nvrtc CUDA::cuda_driver)
