// SPDX-License-Identifier: Apache-2.0
// Starts this program as child processes that do parts of the work: a run in a child process has its own memory and
// address layout. Signals that ask to stop are forwarded to the children, and a child does not outlive its parent.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace rnnlab {

using OnLine = std::function<void(const std::string&)>;  // called with each line of a child's stdout
using MustEnd = std::function<bool()>;                   // called ten times a second; true: the children are killed

// Requests a child. Assignments in `environment` ("RNNLAB_RANK=1") override those of this process.
struct ChildRequest {
  std::vector<std::string> arguments;
  std::vector<std::string> environment = {};
};

// Runs `program` with these arguments and waits for its end; its stdin is empty, and its stderr is that of this
// process. Returns the program's exit code, or, if the signal that stops this command ended the child, the exit code of
// that signal. Throws UserError kDevice if the program cannot be started, or if another signal ended it.
ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments, const OnLine& on_line,
                   const MustEnd& must_end = {});

// Runs several children at once and returns their exit codes when all have ended. The exit code of a child that another
// signal ended is kDevice. Throws UserError kDevice if a child cannot be started; then no child keeps running.
std::vector<ExitCode> run_children(const std::string& program, const std::vector<ChildRequest>& requests,
                                   const OnLine& on_line);

// How children that work together have ended: the exit code of the first that failed; and if signals ended all of them,
// so that perhaps no child could report a reason, the reason in words, otherwise "".
struct EndOfChildren {
  ExitCode exit_code = ExitCode::kDone;
  std::string reason = {};
};

// Called if a child fails, with its index, its exit code, and the signal that ended it in words, or "".
using OnFailure = std::function<void(size_t, ExitCode, const std::string&)>;

// Runs several children that work together. After the first failure the others have five seconds to end; after that
// they are asked to end, and after five more seconds they are killed. Throws UserError kDevice if a child cannot be
// started.
EndOfChildren run_together(const std::string& program, const std::vector<ChildRequest>& requests, const OnLine& on_line,
                           const OnFailure& on_failure, const MustEnd& must_end = {});

// Returns whether a process with this exit code was stopped by a signal that asks to stop, so that it has saved its
// state.
bool is_stop_exit_code(ExitCode exit_code);

// Call this function in the child before its work: the child then ends at once if the parent ends. `parent_reads` is
// the write end of the pipe from which the parent reads.
void end_with_parent(int parent_reads);

// This is the path of this program's executable file.
inline constexpr const char* kThisProgram = "/proc/self/exe";

}  // namespace rnnlab
