# The programs: each is there as soon as its sources are.

# cohort_program(<target> <folder under bin, or .> <name> SOURCES...)
function(cohort_program target folder name)
  if(ARGN)
    add_executable(${target} ${ARGN})
    cohort_use_internals(${target} cohort CLI11::CLI11)
    # Programs spend their time in the library.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/${folder})
  endif()
endfunction()

# Most programs include all of cohort.h: a program that does nothing parses it for them, so that building one of them does
# not build another.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_programs.cpp CONTENT "int main() {}\n")
cohort_program(precompiled_programs . precompiled_programs ${PROJECT_BINARY_DIR}/precompiled_programs.cpp)
set_target_properties(precompiled_programs PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/CMakeFiles)
cohort_share_precompiled(programs precompiled_programs cohort/cohort.h)

# cohort_program_with_precompiled(...): cohort_program of a program that includes cohort.h.
function(cohort_program_with_precompiled target)
  cohort_program(${target} ${ARGN})
  if(TARGET ${target})
    cohort_share_precompiled(programs ${target} cohort/cohort.h)
  endif()
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/programs/cohort/*.cpp)
cohort_program(cohort_command . cohort ${sources})
if(TARGET cohort_command)
  target_include_directories(cohort_command PRIVATE ${PROJECT_SOURCE_DIR})
  cohort_compile_together(cohort_command AT_ONCE 7)
  install(TARGETS cohort_command)
endif()

# What reads the options of the benchmarks.
add_library(benchmark_options OBJECT ${PROJECT_SOURCE_DIR}/benchmarks/command_line.cpp)
cohort_use_internals(benchmark_options CLI11::CLI11)
target_include_directories(benchmark_options PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_options(benchmark_options PRIVATE $<$<CONFIG:Release>:-O0>)

# Where the time of a job goes, apart for its tests.
add_library(benchmark_tables OBJECT ${PROJECT_SOURCE_DIR}/benchmarks/kernel_table.cpp)
cohort_use_internals(benchmark_tables)
target_include_directories(benchmark_tables PUBLIC ${PROJECT_SOURCE_DIR})

# Jobs of the CPU and of a GPU have the same names.
set_source_files_properties(${PROJECT_SOURCE_DIR}/benchmarks/jobs.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# cohort_benchmark(<name> SOURCES...)
function(cohort_benchmark name)
  cohort_program_with_precompiled(${name} . ${name} ${ARGN})
  if(TARGET ${name})
    target_link_libraries(${name} PRIVATE benchmark_options)
    cohort_compile_together(${name})
  endif()
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/cohort_bench*.cpp)
if(sources)
  list(APPEND sources ${PROJECT_SOURCE_DIR}/benchmarks/device_rates.cpp ${PROJECT_SOURCE_DIR}/benchmarks/gpu_jobs.cpp
       ${PROJECT_SOURCE_DIR}/benchmarks/data_jobs.cpp ${PROJECT_SOURCE_DIR}/benchmarks/input_jobs.cpp
       ${PROJECT_SOURCE_DIR}/benchmarks/jobs.cpp
       ${PROJECT_SOURCE_DIR}/benchmarks/roofline.cpp)
endif()
cohort_benchmark(cohort-bench ${sources})
if(TARGET cohort-bench)
  target_link_libraries(cohort-bench PRIVATE benchmark_tables)
endif()
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/cohort_cluster_bench*.cpp)
if(sources)
  list(APPEND sources ${PROJECT_SOURCE_DIR}/benchmarks/bench_process.cpp ${PROJECT_SOURCE_DIR}/benchmarks/jobs.cpp
       ${PROJECT_SOURCE_DIR}/benchmarks/plain_grpc_stream.cpp ${PROJECT_SOURCE_DIR}/benchmarks/transport_bench.cpp)
endif()
cohort_benchmark(cohort-cluster-bench ${sources})
if(TARGET cohort-cluster-bench)
  target_link_libraries(cohort-cluster-bench PRIVATE gRPC::grpc++)
endif()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/checkpoint_bench.cpp)
cohort_benchmark(cohort-checkpoint-bench ${sources})

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/saving_bench*.cpp)
cohort_benchmark(cohort-saving-bench ${sources})

set(COHORT_EXAMPLE_TARGETS)
if(COHORT_EXAMPLES)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    cohort_program_with_precompiled(example_${name} examples ${name} ${source})
    list(APPEND COHORT_EXAMPLE_TARGETS example_${name})
  endforeach()
endif()
