# Installs the build into an empty folder, moves that folder, then configures and builds a user's project against it and
# runs its programs. Arguments: BUILD_DIR CONSUMER_DIR EXAMPLES_DIR GENERATOR CXX CCACHE WHOLE_HEADERS

set(work ${BUILD_DIR}/tests/install)
file(REMOVE_RECURSE ${work})

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(result)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ended with ${result}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/installed)
# A package that remembers where it was first put would no longer work.
file(RENAME ${work}/installed ${work}/moved)
set(launcher)
if(CCACHE)
  set(launcher -DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE})
endif()
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER_DIR} -B ${work}/consumer -DCMAKE_CXX_COMPILER=${CXX}
     -DCMAKE_PREFIX_PATH=${work}/moved -DEXAMPLES_DIR=${EXAMPLES_DIR} -DWHOLE_HEADERS=${WHOLE_HEADERS} ${launcher})
step(${CMAKE_COMMAND} --build ${work}/consumer)
step(${work}/consumer/consumer)
step(${work}/consumer/two_inputs)
