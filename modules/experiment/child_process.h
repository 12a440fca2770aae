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
// it.
ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& on_line);

// Several children with the same arguments that work together, one for each of `environments`, whose assignments
// ("RNNLAB_RANK=1") hold before those of this process.
struct ChildrenRequest {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::vector<std::string>> environments;
  std::function<void(const std::string&)> on_line;  // of the first one's stdout; that of the others is discarded
  // Told of the first that fails, by its index: its exit code, and in words which signal ended it, or "".
  std::function<void(size_t, ExitCode, const std::string&)> on_failure = {};
};

// As run_child. If one fails, the others have five seconds to end, are asked to end then, and are killed after five
// more; its exit code comes back.
ExitCode run_children(const ChildrenRequest& request);

// In the child, before its work: ends it at once if the parent ends. `parent_reads` is the descriptor that the parent
// reads from.
void end_with_parent(int parent_reads);

// This program's file.
inline constexpr const char* kThisProgram = "/proc/self/exe";

}  // namespace rnnlab
