# One OBJECT library per folder, all of them in one shared library: a static one would lose registrations.

set(COHORT_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
set(COHORT_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${COHORT_INCLUDE_DIR}/cohort ${COHORT_GENERATED_DIR})
add_custom_target(cohort_protos)

# What every target of ours that uses the internal headers needs.
function(cohort_use_internals target)
  add_dependencies(${target} cohort_protos)
  target_include_directories(${target} PRIVATE ${COHORT_INCLUDE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${COHORT_GENERATED_DIR})
  target_link_libraries(${target} PRIVATE cohort_flags ${COHORT_COMMON_LIBS} ${ARGN})
endfunction()

# cohort_precompile(<target> <header>...): parses headers that most of a target's sources include only once. Sources include
# what they use all the same: the preset debug does without.
# g++ then forgets that <string> is a system header and warns inside it.
set(precompiled_options -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
function(cohort_precompile target)
  list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
  target_precompile_headers(${target} PRIVATE ${headers})
  target_compile_options(${target} PRIVATE ${precompiled_options})
endfunction()

# cohort_share_precompiled(<group> <target> <header>...): the same for targets with the same flags; the first of a group does
# it for all.
function(cohort_share_precompiled group target)
  get_property(first GLOBAL PROPERTY COHORT_PRECOMPILED_FOR_${group})
  if(NOT first)
    cohort_precompile(${target} ${ARGN})
    set_property(GLOBAL PROPERTY COHORT_PRECOMPILED_FOR_${group} ${target})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
    target_compile_options(${target} PRIVATE ${precompiled_options})
  endif()
endfunction()

# cohort_compile_together(<target> [AT_ONCE <number>]): its sources are parsed and compiled several at a time; what they include and
# instantiate is then done once for all of them. Sources stay whole by themselves: the preset debug does without.
function(cohort_compile_together target)
  if(COHORT_UNITY)
    cmake_parse_arguments(ARG "" "AT_ONCE" "" ${ARGN})
    set(at_once ${COHORT_SOURCES_AT_ONCE})
    if(ARG_AT_ONCE)
      set(at_once ${ARG_AT_ONCE})
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${at_once})
    # A class with a member of a file-local type is meant to be local, too.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Sources that instantiate much, or keep names of their own that others have, too: each is compiled by itself
# (tests/house/check_unity.py).
set(COHORT_COMPILED_ALONE "/kernels/cpu/(linalg_.*|reduce|gemm|conv_pa.*)\\.cpp$")

# What most sources of a room include.
set(COHORT_PRECOMPILED_autodiff cohort/graph/graph.h)
set(COHORT_PRECOMPILED_callbacks cohort/model/fit/callback.h cohort/model/model.h)
set(COHORT_PRECOMPILED_datasets cohort/data/dataset.h)
set(COHORT_PRECOMPILED_distribute cohort/distribute/worker/task_service.h)
set(COHORT_PRECOMPILED_graph cohort/core/op.h)
set(COHORT_PRECOMPILED_kernels cohort/core/kernel.h cohort/core/thread_pool.h)
set(COHORT_PRECOMPILED_layers cohort/model/layer/layer.h)
set(COHORT_PRECOMPILED_losses cohort/losses/loss.h)
set(COHORT_PRECOMPILED_metrics cohort/metrics/metric.h)
set(COHORT_PRECOMPILED_model cohort/model/layer/layer.h)
set(COHORT_PRECOMPILED_ops cohort/core/op.h)
set(COHORT_PRECOMPILED_optimizers cohort/optimizers/optimizer.h)
set(COHORT_PRECOMPILED_saving cohort/model/layer/layer.h nlohmann/json.hpp)
set(COHORT_PRECOMPILED_variables cohort/variables/variable.h)

# Rooms that describe what others compute: no step spends its time in them, and a third of theirs is the optimiser's.
set(COHORT_COMPILED_LIGHTLY callbacks config layers losses metrics optimizers saving summary)

# cohort_protos(<out> <folder> <room> [GRPC] FILES ...): <folder>/x.proto is imported as "cohort/<room>/x.proto" and its
# code included as "cohort/<room>/x.pb.h"; sets <out> to the generated files.
function(cohort_protos out folder room)
  cmake_parse_arguments(ARG "GRPC" "" "FILES" ${ARGN})
  set(generated)
  foreach(proto ${ARG_FILES})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/${folder} ${proto})
    string(REGEX REPLACE "\\.proto$" "" stem cohort/${room}/${path})
    set(outputs ${COHORT_GENERATED_DIR}/${stem}.pb.cc ${COHORT_GENERATED_DIR}/${stem}.pb.h)
    set(grpc_arguments)
    if(ARG_GRPC)
      list(APPEND outputs ${COHORT_GENERATED_DIR}/${stem}.grpc.pb.cc ${COHORT_GENERATED_DIR}/${stem}.grpc.pb.h)
      set(grpc_arguments --grpc_out=${COHORT_GENERATED_DIR}
                         --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc -I ${COHORT_INCLUDE_DIR} --cpp_out=${COHORT_GENERATED_DIR} ${grpc_arguments}
              ${COHORT_INCLUDE_DIR}/${stem}.proto
      DEPENDS ${proto}
      COMMENT "Generating code from ${stem}.proto"
      VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()
  set(${out} ${generated} PARENT_SCOPE)
endfunction()

# cohort_module(<folder> AS <room> [EXCEPT <subfolder>...] [GRPC] [LIBS ...]): <folder>/x.h is included as
# "cohort/<room>/x.h". A folder that is missing or empty is skipped until it has sources.
function(cohort_module folder)
  cmake_parse_arguments(ARG "GRPC" "AS" "EXCEPT;LIBS" ${ARGN})
  set(root ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/*.cpp ${root}/*.cu)
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS ${root}/*.proto)
  foreach(subfolder ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${root}/${subfolder}/")
    list(FILTER protos EXCLUDE REGEX "^${root}/${subfolder}/")
  endforeach()
  foreach(backend CUDA NCCL)
    string(TOLOWER ${backend} name)
    set(backend_sources ${sources})
    list(FILTER backend_sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/.*/${name}/")
    list(REMOVE_ITEM sources ${backend_sources})
    if(COHORT_${backend})
      set_property(GLOBAL APPEND PROPERTY COHORT_CUDA_SOURCES ${backend_sources})
    endif()
  endforeach()

  # A room inside another (distribute/rpc) is reached through its parent's link.
  get_filename_component(parent ${COHORT_INCLUDE_DIR}/cohort/${ARG_AS} DIRECTORY)
  if(IS_DIRECTORY ${root} AND NOT IS_SYMLINK ${parent})
    file(CREATE_LINK ${root} ${COHORT_INCLUDE_DIR}/cohort/${ARG_AS} SYMBOLIC)
  endif()
  if(NOT sources AND NOT protos)
    return()
  endif()

  set(grpc)
  if(ARG_GRPC)
    set(grpc GRPC)
  endif()
  cohort_protos(generated ${folder} ${ARG_AS} ${grpc} FILES ${protos})
  string(REPLACE "/" "_" target cohort_${ARG_AS})
  if(generated)
    set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS "-w")
    add_custom_target(${target}_protos DEPENDS ${generated})
    add_dependencies(cohort_protos ${target}_protos)
  endif()
  add_library(${target} OBJECT ${sources} ${generated})
  cohort_use_internals(${target} ${ARG_LIBS})
  set(alone ${sources})
  list(FILTER alone INCLUDE REGEX "${COHORT_COMPILED_ALONE}")
  # A header that is parsed once or twice anyway is not worth a precompiled one.
  set(units ${sources})
  list(LENGTH units units)
  if(COHORT_UNITY AND NOT alone)
    math(EXPR units "(${units} + ${COHORT_SOURCES_AT_ONCE} - 1) / ${COHORT_SOURCES_AT_ONCE}")
  endif()
  if(COHORT_PRECOMPILED_${ARG_AS} AND units GREATER 2)
    cohort_precompile(${target} ${COHORT_PRECOMPILED_${ARG_AS}})
    set_source_files_properties(${generated} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(ARG_AS IN_LIST COHORT_COMPILED_LIGHTLY)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  cohort_compile_together(${target})
  set_source_files_properties(${generated} ${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(GLOBAL APPEND PROPERTY COHORT_MODULES ${target})
  set_property(GLOBAL APPEND PROPERTY COHORT_MODULE_LIBS ${ARG_LIBS})
endfunction()

# Headers that are compiled at run time, too, as strings in <generated>/cohort/cuda/program_headers.inc.
function(cohort_embed_headers)
  set(rows)
  foreach(header ${ARGN})
    set(file ${PROJECT_SOURCE_DIR}/framework/${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(APPEND rows "{\"cohort/${header}\", R\"header(${text})header\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${COHORT_GENERATED_DIR}/cohort/cuda/program_headers.inc CONTENT "${rows}" @ONLY)
endfunction()

# The one shared library made of all modules, and libcohort_cuda, which it loads at run time.
function(cohort_library)
  get_property(modules GLOBAL PROPERTY COHORT_MODULES)
  get_property(libs GLOBAL PROPERTY COHORT_MODULE_LIBS)
  get_property(cuda_sources GLOBAL PROPERTY COHORT_CUDA_SOURCES)
  if(NOT modules)
    message(STATUS "No folder has sources: nothing to build")
    return()
  endif()
  list(TRANSFORM modules REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(cohort SHARED ${modules})
  add_library(cohort::cohort ALIAS cohort)
  target_compile_features(cohort INTERFACE cxx_std_20)
  target_include_directories(cohort INTERFACE $<BUILD_INTERFACE:${COHORT_INCLUDE_DIR}>)
  # What a program does not need of the library costs it nothing at its start: neither libraries that nobody calls,
  # nor symbols that only the library itself uses, nor a look-up by name for each call inside it. Sanitizers are better
  # off when other libraries use our instances of their templates, which are instrumented.
  target_link_options(cohort PRIVATE -Wl,--as-needed)
  if(NOT COHORT_SANITIZE)
    set(exports ${CMAKE_CURRENT_SOURCE_DIR}/cmake/libcohort.map)
    target_link_options(cohort PRIVATE -Wl,-O1 -Wl,-Bsymbolic-functions -Wl,--version-script=${exports})
    set_target_properties(cohort PROPERTIES LINK_DEPENDS ${exports})
  endif()
  target_link_libraries(cohort PRIVATE $<BUILD_INTERFACE:cohort_flags> ${COHORT_COMMON_LIBS} ${libs} ${CMAKE_DL_LIBS})
  set_target_properties(cohort PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

  if(cuda_sources)
    cohort_embed_headers(kernels/element_bits.h kernels/functors.h kernels/scalar_math.h)
    cohort_use_cudnn_frontend(cuda_sources)
    cohort_compile_cuda_together(cuda_sources)
    add_library(cohort_cuda_objects OBJECT ${cuda_sources})
    if(COHORT_NCCL)
      target_include_directories(cohort_cuda_objects SYSTEM PRIVATE ${COHORT_NCCL_INCLUDE})
    endif()
    cohort_use_internals(cohort_cuda_objects ${COHORT_LIBS_cuda})
    add_library(cohort_cuda MODULE $<TARGET_OBJECTS:cohort_cuda_objects>)
    cohort_use_internals(cohort_cuda cohort ${COHORT_LIBS_cuda} ${CMAKE_DL_LIBS})
    # CUDA's runtime inside it is its own, whatever else in the process has one.
    target_link_options(cohort_cuda PRIVATE -Wl,--no-undefined -Wl,--as-needed -Wl,--exclude-libs,ALL)
    set_target_properties(cohort_cuda PROPERTIES LINKER_LANGUAGE CXX CUDA_RUNTIME_LIBRARY None)
    install(TARGETS cohort_cuda DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()
