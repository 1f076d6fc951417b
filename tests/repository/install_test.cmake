# Installs BUILD into a fresh prefix, then builds and runs the consumer and the program of README.md against that prefix alone.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The C++ block of README as a source file, whose program must end with the digest of the experiment that README names.
function(write_readme_program file)
  file(READ ${ROOT}/README.md text)
  string(FIND "${text}" "```cpp\n" first)
  if(first EQUAL -1)
    message(FATAL_ERROR "README.md has no cpp block")
  endif()
  math(EXPR first "${first} + 7")
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
write_readme_program(${WORK}/readme.cc)
run(${CMAKE_COMMAND} -S ${ROOT}/tests/repository/consumer -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    -DMFL_VERSION=${VERSION} -DREADME_PROGRAM=${WORK}/readme.cc)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

run(${CMAKE_COMMAND} -S ${ROOT}/examples/extensions -B ${WORK}/extensions -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/extensions)
file(MAKE_DIRECTORY ${WORK}/extensions_run)
execute_process(COMMAND ${WORK}/extensions/extensions WORKING_DIRECTORY ${WORK}/extensions_run COMMAND_ERROR_IS_FATAL ANY)

file(MAKE_DIRECTORY ${WORK}/readme)
execute_process(COMMAND ${WORK}/build/readme WORKING_DIRECTORY ${WORK}/readme OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "\n([0-9a-f]+)\n$")
  message(FATAL_ERROR "README's program printed no digest: ${printed}")
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
    message(FATAL_ERROR "README's program ended with digest ${digest}, mfl run with\n${printed}")
  endif()
endif()
