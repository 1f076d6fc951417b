# Writes the source OUT with the commit of ROOT, if that has changed: cmake -D ROOT=... -D OUT=... -P mfl_commit.cmake. A tree with changes that are
# not committed has "-dirty" at its end. The commit is empty where ROOT is not a checkout and where git is not installed.
set(commit "")
find_program(git git)
if(git AND EXISTS ${ROOT}/.git)
  set(ENV{GIT_OPTIONAL_LOCKS} 0) # another git may be at work
  execute_process(COMMAND ${git} describe --always --dirty --exclude=* --abbrev=12 WORKING_DIRECTORY ${ROOT}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
#include "mfl/cli/commit.h"

std::string_view mfl::cli::commit() { return "@commit@"; }
]] @ONLY)
