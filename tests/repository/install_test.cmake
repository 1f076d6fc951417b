# Installs BUILD into a fresh prefix, then builds and runs the consumer and the programs of docs/cpp.md and docs/c-api.md against that prefix
# alone.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The first block of that language in a document as a source file.
function(write_program document language file)
  file(READ ${ROOT}/${document} text)
  string(FIND "${text}" "```${language}\n" first)
  if(first EQUAL -1)
    message(FATAL_ERROR "${document} has no ${language} block")
  endif()
  string(LENGTH "```${language}\n" opening)
  math(EXPR first "${first} + ${opening}")
  string(SUBSTRING "${text}" ${first} -1 text)
  string(FIND "${text}" "```" last)
  string(SUBSTRING "${text}" 0 ${last} text)
  file(WRITE ${file} "${text}")
endfunction()

set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()
write_program(docs/cpp.md cpp ${WORK}/cpp.cc)
write_program(docs/c-api.md c ${WORK}/c_api.c)
run(${CMAKE_COMMAND} -S ${ROOT}/tests/repository/consumer -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_C_FLAGS=${flags} -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    -DMFL_VERSION=${VERSION} -DCPP_PROGRAM=${WORK}/cpp.cc -DC_PROGRAM=${WORK}/c_api.c)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

run(${CMAKE_COMMAND} -S ${ROOT}/examples/extensions -B ${WORK}/extensions -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/extensions)
file(MAKE_DIRECTORY ${WORK}/extensions_run)
execute_process(COMMAND ${WORK}/extensions/extensions WORKING_DIRECTORY ${WORK}/extensions_run COMMAND_ERROR_IS_FATAL ANY)

file(MAKE_DIRECTORY ${WORK}/c_api)
execute_process(COMMAND ${WORK}/build/c_api WORKING_DIRECTORY ${WORK}/c_api OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "1000 of 1000 right")
  message(FATAL_ERROR "the program of docs/c-api.md printed: ${printed}")
endif()

# Its last line must be the digest of the experiment that docs/cpp.md names.
file(MAKE_DIRECTORY ${WORK}/cpp)
execute_process(COMMAND ${WORK}/build/cpp WORKING_DIRECTORY ${WORK}/cpp OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "\n([0-9a-f]+)\n$")
  message(FATAL_ERROR "the program of docs/cpp.md printed no digest: ${printed}")
endif()
set(digest ${CMAKE_MATCH_1})
if(EXISTS ${prefix}/bin/mfl)
  run(${prefix}/bin/mfl --help)
  foreach(file IN ITEMS man/man1/mfl.1 man/man1/mfl-runs-export.1 bash-completion/completions/mfl zsh/site-functions/_mfl
                        fish/vendor_completions.d/mfl.fish)
    if(NOT EXISTS ${prefix}/share/${file})
      message(FATAL_ERROR "share/${file} is not installed")
    endif()
  endforeach()
  execute_process(COMMAND ${prefix}/bin/mfl run ${ROOT}/experiments/quickstart.toml --quiet --store ${WORK}/runs.db
                  OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT printed MATCHES "${digest}")
    message(FATAL_ERROR "the program of docs/cpp.md ended with digest ${digest}, mfl run with\n${printed}")
  endif()
endif()
