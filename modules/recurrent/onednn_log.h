// What oneDNN says about the recurrent primitives it runs. It speaks only by printing to standard output, so that has
// to be caught: everything else that is printed meanwhile is printed again afterwards, and standard output and oneDNN's
// silence are always restored.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

struct OnednnCall {
  std::string implementation;  // "ref", "brgemm:avx512_core"
  std::string propagation;     // "forward_training", "forward_inference", "backward"
};

// Runs `work` and gives oneDNN's recurrent calls in order. Other threads must not print to standard output meanwhile.
// Gives none where standard output cannot be caught.
std::vector<OnednnCall> onednn_calls_during(const std::function<void()>& work);

// The recurrent calls in oneDNN's verbose output
// ("onednn_verbose,v1,primitive,exec,cpu,rnn,ref,forward_training,..."); other lines are appended to `others`.
std::vector<OnednnCall> parse_onednn_log(std::string_view log, std::string& others);

}  // namespace rnnlab
