# Kernels compiled once more for each level of the CPU's instruction set; the library takes the best level that the machine
# has (framework/core/cpu_level.h).
#
# What is compiled with a level's flags must never run, nor be linked, in place of code that runs everywhere. So the sources
# of a level become one object whose symbols are all local, the instances of templates and inline functions among them, and
# its static initialisers lie in a section of their own, where the loader does not see them: core/cpu_level.cpp runs them.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(cpu_levels avx2 avx512 avx512bf16 amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(cpu_levels bf16)  # sve is known, too, but g++ 12 does not survive these kernels with it
endif()
set(COHORT_CPU_LEVELS_POSSIBLE ON)
if(COHORT_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_OBJCOPY)
  set(COHORT_CPU_LEVELS_POSSIBLE OFF)
  set(cpu_levels)
endif()
set(COHORT_CPU_LEVELS "${cpu_levels}" CACHE STRING "Levels to compile kernels for beside the baseline; empty: none")

# Flags of each level; framework/core/cpu_level.cpp asks the machine for the same.
set(COHORT_CPU_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(COHORT_CPU_FLAGS_avx512 ${COHORT_CPU_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(COHORT_CPU_FLAGS_avx512bf16 ${COHORT_CPU_FLAGS_avx512} -mavx512bf16)
set(COHORT_CPU_FLAGS_amx ${COHORT_CPU_FLAGS_avx512bf16} -mamx-tile -mamx-bf16)
set(COHORT_CPU_FLAGS_dotprod -march=armv8.2-a+fp16+dotprod)
set(COHORT_CPU_FLAGS_sve -march=armv8.2-a+fp16+sve)
set(COHORT_CPU_FLAGS_bf16 -march=armv8.2-a+fp16+dotprod+bf16)

# Matrix products: all that the levels of matrix instructions have.
set(COHORT_PRODUCT_KERNELS fused_matmul gemm matmul packed_matrix packed_product panel_kernel peak_loops)
# What takes time in training. Sources that others of a level call belong here, too: types may be laid out differently.
set(COHORT_HOT_KERNELS ${COHORT_PRODUCT_KERNELS} adam_update attention average_pooling batch_norm ../broadcast_plan cast conv
    conv_depthwise conv_panels_forward conv_panels_input_gradient conv_panels_kernel_gradient conv_patches conv_rows conv_widened cross_entropy dropout
    elementwise elementwise_binary elementwise_broadcast elementwise_select elementwise_tests elementwise_unary
    fused_elementwise fused_program gelu gru layer_norm lstm max_pooling pooled_conv pooling reduce ../reduce_plan sgd_update simple_rnn
    softmax strided_copy)
# What the compiler makes of one of these must not depend on its neighbours.
if(NOT COHORT_SANITIZE)
  list(TRANSFORM COHORT_HOT_KERNELS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/framework/kernels/cpu/\\1.cpp"
       OUTPUT_VARIABLE hot_sources)
  set_source_files_properties(${hot_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()
set(COHORT_KERNELS_avx512bf16 ${COHORT_PRODUCT_KERNELS})
set(COHORT_KERNELS_amx ${COHORT_PRODUCT_KERNELS})
set(COHORT_KERNELS_bf16 ${COHORT_PRODUCT_KERNELS})

# cohort_cpu_level(<out> <level> SOURCES ... [FLAGS ...] [LIBS ...]): sets <out> to the object that holds a level.
function(cohort_cpu_level out level)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS;LIBS" ${ARGN})
  set(target cohort_cpu_level_${level})
  add_library(${target} OBJECT ${ARG_SOURCES})
  cohort_use_internals(${target} ${ARG_LIBS})
  target_compile_definitions(${target} PRIVATE COHORT_CPU_LEVEL=${level})
  # A unique symbol would be one for the whole process, whoever defines it.
  target_compile_options(${target} PRIVATE ${ARG_FLAGS} -fno-gnu-unique)
  cohort_precompile(${target} cohort/core/kernel.h cohort/core/thread_pool.h)  # a third of the time that a level takes
  set(objects $<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,gch$>)
  set(object ${PROJECT_BINARY_DIR}/cpu_levels/${level}.o)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cpu_levels)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object}.joined ${objects}
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=${target} --rename-section .init_array=${target} ${object}.joined
            ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}.joined
    DEPENDS ${objects}
    COMMENT "Joining the kernels of the level ${level}"
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_property(GLOBAL APPEND PROPERTY COHORT_CPU_LEVEL_OBJECTS ${object})
  set(${out} ${object} PARENT_SCOPE)
endfunction()

# cohort_cpu_levels(): puts the levels of COHORT_CPU_LEVELS into the library.
function(cohort_cpu_levels)
  if(NOT COHORT_CPU_LEVELS_POSSIBLE)
    return()
  endif()
  foreach(level ${COHORT_CPU_LEVELS})
    if(NOT COHORT_CPU_FLAGS_${level})
      message(FATAL_ERROR "COHORT_CPU_LEVELS: must be a list of levels of the CPU. Received: ${level}. "
                          "cmake/CohortCpuLevels.cmake has them.")
    endif()
    set(kernels ${COHORT_HOT_KERNELS})
    if(COHORT_KERNELS_${level})
      set(kernels ${COHORT_KERNELS_${level}})
    endif()
    list(TRANSFORM kernels REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/framework/kernels/cpu/\\1.cpp")
    cohort_cpu_level(object ${level} SOURCES ${kernels} FLAGS ${COHORT_CPU_FLAGS_${level}} LIBS ${COHORT_LIBS_kernels})
    target_sources(cohort PRIVATE ${object})
  endforeach()
endfunction()
