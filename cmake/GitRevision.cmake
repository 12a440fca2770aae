# rnnlab::git_revision: link it to include "rnnlab_git_revision.h", which defines RNNLAB_GIT_REVISION as the commit that was built,
# with "-dirty" after it when tracked files differ from it, or "unknown" outside a git checkout.
# Asked at every build, written only when it changes. The same file does both: included it declares, run with -P it writes.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(header "${CMAKE_BINARY_DIR}/generated/rnnlab_git_revision.h")
  add_custom_target(rnnlab_write_git_revision
    COMMAND "${CMAKE_COMMAND}" -D "HEADER=${header}" -D "SOURCE_DIR=${CMAKE_SOURCE_DIR}" -P "${CMAKE_CURRENT_LIST_FILE}"
    BYPRODUCTS "${header}"
    COMMENT "Asking git for the revision")
  add_library(rnnlab_git_revision INTERFACE)
  add_library(rnnlab::git_revision ALIAS rnnlab_git_revision)
  add_dependencies(rnnlab_git_revision rnnlab_write_git_revision)
  target_include_directories(rnnlab_git_revision INTERFACE "${CMAKE_BINARY_DIR}/generated")
  return()
endif()

set(revision unknown)
find_program(GIT git)
if(GIT)
  execute_process(
    COMMAND "${GIT}" describe --always --dirty --abbrev=40 --exclude=*
    WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE answer RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    set(revision "${answer}")
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#pragma once\n#define RNNLAB_GIT_REVISION \"@revision@\"\n" @ONLY)
