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

// Several at once, each with its own arguments; returns when all have ended. The exit code of one that another signal
// ended is kDevice. UserError kDevice, with no child left behind, if one cannot be started.
std::vector<ExitCode> run_children(const std::string& program, const std::vector<std::vector<std::string>>& arguments,
                                   const std::function<void(const std::string&)>& on_line);

// In the child, before its work: ends it at once if the parent ends. `parent_reads` is the descriptor that the parent
// reads from.
void end_with_parent(int parent_reads);

// This program's file.
inline constexpr const char* kThisProgram = "/proc/self/exe";

}  // namespace rnnlab
