# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT with the revision of the git checkout in SOURCE, and touches it only when something changed, so that a build
# after a commit compiles one small file. Outside a checkout, or without git, the revision is "unknown".

set(revision unknown)
set(dirty false)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(revision "${head}")
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty true)
    endif()
  endif()
endif()

file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// Made at build time.
#pragma once
namespace rnnlab {
inline constexpr const char* kGitRevision = \"@revision@\";
inline constexpr bool kGitDirty = @dirty@;
}
" @ONLY)
