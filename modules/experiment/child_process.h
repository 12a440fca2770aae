// This program as a process of its own, which does a part of the work: a run that shares no memory and no address
// layout with others. Signals that ask to stop are handed on, and the child does not outlive its parent.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace rnnlab {

// Runs `program` with these arguments and waits for its end; its stdin is empty, and its stderr is that of this
// process. `on_line` gets each line of its stdout as it comes. Returns its exit code, or that of the signal which stops
// this command if that signal ended the child. UserError kDevice if it cannot be started, or if another signal ended
// it. `must_end` is asked ten times a second; once it is true, the child is killed.
ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& on_line, const std::function<bool()>& must_end = {});

// One of several children. Assignments ("RNNLAB_RANK=1") in `environment` hold before those of this process.
struct ChildRequest {
  std::vector<std::string> arguments;
  std::vector<std::string> environment = {};
};

// Several at once; returns when all have ended. `on_line` gets the lines of all. The exit code of one that another
// signal ended is kDevice. UserError kDevice, with no child left behind, if one cannot be started.
std::vector<ExitCode> run_children(const std::string& program, const std::vector<ChildRequest>& requests,
                                   const std::function<void(const std::string&)>& on_line);

// Several that work on one thing. If one fails, `on_failure` is told which one, its exit code, and in words which
// signal ended it, or ""; the others have five seconds to end, are asked to end then, and are killed after five more.
// Returns the exit code of the first that failed; UserError kDevice if signals ended all of them, because none could
// tell why then. `must_end` as of run_child.
ExitCode run_together(const std::string& program, const std::vector<ChildRequest>& requests,
                      const std::function<void(const std::string&)>& on_line,
                      const std::function<void(size_t, ExitCode, const std::string&)>& on_failure,
                      const std::function<bool()>& must_end = {});

// Whether a process that ended so was asked to by a signal, and so has saved what it had.
bool is_of_stop(ExitCode exit_code);

// In the child, before its work: ends it at once if the parent ends. `parent_reads` is the descriptor that the parent
// reads from.
void end_with_parent(int parent_reads);

// This program's file.
inline constexpr const char* kThisProgram = "/proc/self/exe";

}  // namespace rnnlab
