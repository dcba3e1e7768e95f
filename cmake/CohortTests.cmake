# One GoogleTest binary per room, from the folder of tests/ that mirrors it, linked with tests/support, which holds main.
# Special folders follow.

enable_testing()
find_package(GTest REQUIRED)
set(tests ${PROJECT_SOURCE_DIR}/tests)

# Folders whose tests run a second time on the TEST device, whose memory the host cannot read.
set(COHORT_DEVICE_TESTS config files core ops graph autodiff variables losses metrics optimizers data datasets layers
    model)
# Folders whose tests run under the sanitizers; the others cover the same code again, slowly, or have no threads.
set(COHORT_SANITIZED_TESTS core ops graph data model datasets distribute)
if(NOT COHORT_SANITIZE STREQUAL "thread")
  list(APPEND COHORT_SANITIZED_TESTS config files kernels autodiff variables saving summary)
endif()
# Folders that tools/test --quick leaves out.
set(COHORT_SLOW_TESTS faults install)
# Folders whose tests take minutes: ctest begins with them, so that none is left over at the end.
set(COHORT_LONG_TESTS distribute faults install)
set(special_folders support golden contract reference house install interop fuzz)
if(NOT COHORT_EXAMPLES)
  list(APPEND special_folders examples)
endif()

# Uses after return are not looked for: frames that g++ 12 takes from the sanitizer's own stack are never given back
# by short functions, so that after some thousand calls it finds none, and searches all of it at each call.
set(test_environment
    "TSAN_OPTIONS=suppressions=${tests}/support/tsan_suppressions.txt:halt_on_error=1:second_deadlock_stack=1"
    "ASAN_OPTIONS=detect_stack_use_after_return=0:check_initialization_order=1"
    "UBSAN_OPTIONS=print_stacktrace=1")

set(test_timeout 600)
if(COHORT_SANITIZE)
  set(test_timeout 1500)
  list(APPEND COHORT_LONG_TESTS ops)
  # This folder alone takes longer than all others together, and waits for much of it: so it runs in parts side by side.
  set(COHORT_TESTS_IN_PARTS distribute)
endif()

# What the sanitizers leave to other builds: tests of times and of memory, and of sizes or numbers of which others run fewer
# through the same code. For the address sanitizer, numbers of threads are such numbers; the thread sanitizer runs those
# tests of ops alone that are of threads.
set(COHORT_NOT_SANITIZED
    ConstantHash.IsNotMuchSlowerThanACopy NoCallbackSlowsACluster.* ManyExecutions.TakeNoMoreMemoryThanFew
    PendingSums.DoNotGrowWithTheNumberOfResults *Traffic.NothingOfTheChiefGrowsWithTheModelOrTheBatch*
    *RowsOfTables.MoveThemAsOnOneDevice*3 OverlappedPacks.GiveTheSameBitsHoweverTheyCross
    Ranks/Collectives.*2 OfAnyNumber/ReplicasInStep.*4
    Conv.first_layers_of_large_networks Conv.of_tensor_float_32_is_near_that_of_float64
    Conv.of_half_types_takes_some_images_at_a_time MaskedMatMul.is_right_however_it_was_chosen)
if(COHORT_SANITIZE STREQUAL "address")
  list(APPEND COHORT_NOT_SANITIZED SameBits.* MatMul.same_bits_for_any_number_of_threads MatMul.half_types_have_float_sums)
elseif(COHORT_SANITIZE STREQUAL "thread")
  set(COHORT_SANITIZED_ops SameBits.*:*threads*:*Threads*)
endif()
list(JOIN COHORT_NOT_SANITIZED ":" COHORT_NOT_SANITIZED)

add_custom_target(sanitized_tests COMMENT "The tests that run under the sanitizers")

function(cohort_add_test name room)
  add_test(NAME ${name} COMMAND ${ARGN})
  set(labels ${room})
  set(environment ${test_environment})
  if(room IN_LIST COHORT_SANITIZED_TESTS)
    list(APPEND labels sanitized)
    if(COHORT_SANITIZE)
      list(APPEND environment "GTEST_FILTER=${COHORT_SANITIZED_${room}}-${COHORT_NOT_SANITIZED}")
    endif()
  endif()
  if(room IN_LIST COHORT_SLOW_TESTS)
    list(APPEND labels slow)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" ENVIRONMENT "${environment}" TIMEOUT ${test_timeout})
  if(room IN_LIST COHORT_LONG_TESTS)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

# Each part runs every third test of the folder.
function(cohort_add_test_in_parts name room)
  foreach(part RANGE 2)
    cohort_add_test(${name}_${part} ${room} ${ARGN})
    set_property(TEST ${name}_${part} APPEND PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=${part})
  endforeach()
endfunction()

# What tests use to look by other means than the library's at what it makes, beside what their room uses.
set(COHORT_TEST_LIBS_datasets ZLIB::ZLIB)
set(COHORT_TEST_LIBS_distribute OpenSSL::SSL)
set(COHORT_TEST_LIBS_saving ZLIB::ZLIB)
set(COHORT_TEST_LIBS_summary PNG::PNG)

# Tests spend their time in the library: compiling them for speed takes longer than it saves, save under the thread sanitizer.
set(test_options)
if(NOT COHORT_SANITIZE STREQUAL "thread")
  set(test_options $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
endif()

file(GLOB support_sources CONFIGURE_DEPENDS ${tests}/support/*.cpp)
add_library(cohort_test_support OBJECT ${support_sources})
target_compile_options(cohort_test_support PRIVATE ${test_options})
set_source_files_properties(${tests}/support/paths.cpp PROPERTIES
    COMPILE_DEFINITIONS COHORT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_include_directories(cohort_test_support PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(cohort_test_support PUBLIC cohort GTest::gtest ZLIB::ZLIB)
cohort_use_internals(cohort_test_support)
cohort_compile_together(cohort_test_support)

file(GLOB test_rooms CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${tests} ${tests}/*)
foreach(room ${test_rooms})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${tests}/${room}/*.cpp)
  if(room IN_LIST special_folders OR NOT sources OR (room STREQUAL cuda AND NOT TARGET cohort_cuda))
    continue()
  endif()
  add_executable(${room}_test ${sources})
  target_compile_options(${room}_test PRIVATE ${test_options})
  cohort_use_internals(${room}_test cohort_test_support GTest::gmock ${COHORT_LIBS_${room}} ${COHORT_TEST_LIBS_${room}})
  cohort_share_precompiled(tests ${room}_test gmock/gmock.h gtest/gtest.h cohort/model/layer/layer.h)
  cohort_compile_together(${room}_test AT_ONCE ${COHORT_TESTS_AT_ONCE})  # what they include costs more than what they say
  set_target_properties(${room}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  if(room IN_LIST COHORT_TESTS_IN_PARTS)
    cohort_add_test_in_parts(${room} ${room} ${room}_test)
  else()
    cohort_add_test(${room} ${room} ${room}_test)
  endif()
  if(room IN_LIST COHORT_DEVICE_TESTS)
    cohort_add_test(${room}_on_TEST ${room} ${room}_test --device=TEST:0)
    # For the sanitizers these are the same tests again.
    set_tests_properties(${room}_on_TEST PROPERTIES LABELS ${room})
  endif()
  if(room IN_LIST COHORT_SANITIZED_TESTS)
    add_dependencies(sanitized_tests ${room}_test)
  endif()
endforeach()

# One source is compiled once more, as a level of the CPU that every machine can run.
if(TARGET core_test AND COHORT_CPU_LEVELS_POSSIBLE)
  cohort_cpu_level(object twin SOURCES ${tests}/core/cpu_level_kernels.cpp LIBS cohort_test_support)
  target_sources(core_test PRIVATE ${object})
endif()

# These look into the module of the GPU where there is one; the first is made of its parts.
if(TARGET cuda_test)
  target_sources(cuda_test PRIVATE $<TARGET_OBJECTS:cohort_cuda_objects>)
  set_target_properties(cuda_test PROPERTIES LINKER_LANGUAGE CXX CUDA_RUNTIME_LIBRARY None)
endif()
if(TARGET ops_test AND TARGET cohort_cuda)
  add_dependencies(ops_test cohort_cuda)
endif()

# These tests run programs; those that the sanitizers run do without.
foreach(name programs_test examples_test faults_test distribute_test)
  if(TARGET ${name} AND TARGET cohort_command AND NOT COHORT_SANITIZE)
    add_dependencies(${name} cohort_command)
  endif()
endforeach()
if(TARGET programs_test)
  target_link_libraries(programs_test PRIVATE benchmark_tables)
endif()
foreach(name cohort-bench cohort-cluster-bench)
  if(TARGET programs_test AND TARGET ${name})
    add_dependencies(programs_test ${name})
  endif()
endforeach()
if(TARGET examples_test)
  add_dependencies(examples_test ${COHORT_EXAMPLE_TARGETS})
endif()

# A driver of GPUs that shows none, for programs that are started with its folder in LD_LIBRARY_PATH.
if(TARGET programs_test)
  add_library(fake_driver SHARED ${tests}/support/fake_driver.c)
  set_target_properties(fake_driver PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests/fake_driver)
  add_dependencies(programs_test fake_driver)
  if(TARGET cohort_cuda)
    add_dependencies(programs_test cohort_cuda)
  endif()
endif()

# golden: the program that compares with data from the real Keras.
file(GLOB sources CONFIGURE_DEPENDS ${tests}/golden/*.cpp)
cohort_program(golden_check . golden_check ${sources})
if(TARGET golden_check)
  target_compile_options(golden_check PRIVATE ${test_options})
  cohort_compile_together(golden_check)
  target_link_libraries(golden_check PRIVATE cohort_hdf5 cohort_zip ZLIB::ZLIB PNG::PNG)
  target_include_directories(golden_check PRIVATE ${PROJECT_SOURCE_DIR})
  if(IS_DIRECTORY ${tests}/golden/data)
    cohort_add_test(golden golden golden_check ${tests}/golden/data)
    # Further cases, one folder per family; ../cases/FAMILY.py is the table each was made from.
    file(GLOB families CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${tests}/golden/data ${tests}/golden/data/*)
    set(golden_folders ${tests}/golden/data)
    foreach(family IN LISTS families)
      # A folder with an expected.h5 is part of the fixtures above it.
      if(IS_DIRECTORY ${tests}/golden/data/${family} AND NOT EXISTS ${tests}/golden/data/${family}/expected.h5)
        cohort_add_test(golden_${family} golden golden_check ${tests}/golden/data/${family})
        list(APPEND golden_folders ${tests}/golden/data/${family})
      endif()
    endforeach()
    # All of it at each level of the CPU that the machine has, and training with several numbers of threads there.
    set(golden_levels baseline)
    if(COHORT_CPU_LEVELS_POSSIBLE)
      list(APPEND golden_levels ${COHORT_CPU_LEVELS})
    endif()
    foreach(level IN LISTS golden_levels)
      cohort_add_test(golden_at_${level} golden golden_check ${golden_folders})
      cohort_add_test(golden_threads_at_${level} golden golden_check ${golden_folders} --only training
                      --threads 1,2,3,5,8,16)
      set_tests_properties(golden_at_${level} golden_threads_at_${level} PROPERTIES
                           ENVIRONMENT "${test_environment};COHORT_CPU=${level}"
                           SKIP_REGULAR_EXPRESSION "must be a level that this library and this machine have")
    endforeach()
  endif()
endif()

# interop: the program that the Python tests drive against the real Keras and TensorBoard.
file(GLOB sources CONFIGURE_DEPENDS ${tests}/interop/*.cpp)
cohort_program_with_precompiled(interop tests interop ${sources})
if(TARGET interop)
  target_include_directories(interop PRIVATE ${PROJECT_SOURCE_DIR})
endif()
# What the tests of DLPack load into their own process.
add_library(dlpack_exchange MODULE ${tests}/interop/dlpack/exchange.cpp)
target_compile_options(dlpack_exchange PRIVATE ${test_options})
cohort_use_internals(dlpack_exchange cohort)
set_target_properties(dlpack_exchange PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)

# contract: users' programs that must compile as they stand; only those named program_* link.
# The design's own programs and those of the docs run too; they write their files where they are.
function(cohort_contract_test name)
  set(scratch ${PROJECT_BINARY_DIR}/contract/${name})
  file(MAKE_DIRECTORY ${scratch})
  # Behind cmake -E env an uncaught exception is a plain failure, so that its message can be looked at.
  cohort_add_test(contract_${name} contract ${CMAKE_COMMAND} -E env ${ARGN})
  # A machine without Fashion-MNIST cannot run program 1; its error says so.
  set_tests_properties(contract_${name} PROPERTIES WORKING_DIRECTORY ${scratch}
                       SKIP_REGULAR_EXPRESSION "Install the package dataset-fashion-mnist")
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${tests}/contract/*.cpp)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  if(name MATCHES "^program_")
    add_executable(contract_${name} ${source})
    cohort_share_precompiled(contract contract_${name} cohort/cohort.h)
    # Program 3 cannot run by itself: it is one task of a cluster.
    if(name MATCHES "^program_([0-9]+|extending|reference)$" AND NOT name STREQUAL program_3)
      cohort_contract_test(${name} $<TARGET_FILE:contract_${name}>)
    endif()
  else()
    add_library(contract_${name} OBJECT ${source})
  endif()
  target_link_libraries(contract_${name} PRIVATE cohort cohort_flags)
  target_compile_options(contract_${name} PRIVATE ${test_options})
  set_target_properties(contract_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/contract)
endforeach()

# Programs for clusters run as every task of one, and as the chief of one whose other tasks are `cohort server`.
if(TARGET cohort_command)
  foreach(name program_3 program_4)
    set(launch $<TARGET_FILE:cohort_command> launch --workers 2 --ps 2 --)
    add_dependencies(contract_${name} cohort_command)
    cohort_contract_test(${name}_launched ${launch} $<TARGET_FILE:contract_${name}>)
    cohort_contract_test(${name}_on_servers ${launch} ${tests}/contract/chief_or_server.sh
                         $<TARGET_FILE:cohort_command> $<TARGET_FILE:contract_${name}>)
  endforeach()
endif()
add_executable(contract_program_3_in_process ${tests}/contract/program_3.cpp $<TARGET_OBJECTS:contract_local_tasks>)
target_link_libraries(contract_program_3_in_process PRIVATE cohort cohort_flags)
target_compile_options(contract_program_3_in_process PRIVATE ${test_options})
cohort_share_precompiled(contract contract_program_3_in_process cohort/cohort.h)
set_target_properties(contract_program_3_in_process PROPERTIES
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/contract)
cohort_contract_test(program_3_in_process $<TARGET_FILE:contract_program_3_in_process>)

# One test of models hands a step to a process of its own.
if(TARGET model_test AND TARGET contract_program_graph_runner)
  add_dependencies(model_test contract_program_graph_runner)
endif()

# reference: small programs written from docs/reference alone; each checks what it shows and writes its files where it is.
file(GLOB sources CONFIGURE_DEPENDS ${tests}/reference/*.cpp)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(reference_${name} ${source})
  target_link_libraries(reference_${name} PRIVATE cohort cohort_flags)
  target_compile_options(reference_${name} PRIVATE ${test_options})
  cohort_share_precompiled(contract reference_${name} cohort/cohort.h)
  set_target_properties(reference_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/reference)
  set(scratch ${PROJECT_BINARY_DIR}/reference/${name})
  file(MAKE_DIRECTORY ${scratch})
  cohort_add_test(reference_${name} reference reference_${name})
  set_tests_properties(reference_${name} PROPERTIES WORKING_DIRECTORY ${scratch})
endforeach()

# house: checks of the sources themselves.
foreach(check check_includes check_unity check_paths check_format check_docs check_reference)
  if(EXISTS ${tests}/house/${check}.py)
    cohort_add_test(house_${check} house ${Python3_EXECUTABLE} ${tests}/house/${check}.py ${PROJECT_SOURCE_DIR})
    set_tests_properties(house_${check} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endforeach()
# ... and of what the compiler made of those that it may be told other instructions for, or that such sources include.
get_property(objects GLOBAL PROPERTY COHORT_CPU_LEVEL_OBJECTS)
foreach(module cohort_core cohort_kernels)
  list(APPEND objects "$<JOIN:$<TARGET_OBJECTS:${module}>,\n>")
endforeach()
list(JOIN objects "\n" objects)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/baseline_objects.txt CONTENT "${objects}\n")
if(CMAKE_OBJDUMP AND NOT COHORT_SANITIZE)
  cohort_add_test(house_check_cpu_levels house ${Python3_EXECUTABLE} ${tests}/house/check_cpu_levels.py
                  ${PROJECT_BINARY_DIR}/baseline_objects.txt ${CMAKE_OBJDUMP})
  set_tests_properties(house_check_cpu_levels PROPERTIES SKIP_RETURN_CODE 77)
endif()
cohort_add_test(house_self_test house ${Python3_EXECUTABLE} -B -m unittest discover -s ${tests}/house -p *_test.py)

# install: a user's project built against the installed package, and every installed header by itself.
if(EXISTS ${PROJECT_SOURCE_DIR}/framework/cohort.h AND NOT COHORT_SANITIZE)
  set(ccache_argument)
  if(CCACHE_PROGRAM)
    set(ccache_argument -DCCACHE=${CCACHE_PROGRAM})
  endif()
  cohort_add_test(install install ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR} -DCONSUMER_DIR=${tests}/install
                  -DEXAMPLES_DIR=${PROJECT_SOURCE_DIR}/examples -DGENERATOR=${CMAKE_GENERATOR}
                  -DCXX=${CMAKE_CXX_COMPILER} -DWHOLE_HEADERS=${COHORT_WERROR} ${ccache_argument}
                  -P ${tests}/install/build_consumer.cmake)
  set_tests_properties(install PROPERTIES TIMEOUT 1800)  # several hundred headers, on a machine that may be busy
endif()
