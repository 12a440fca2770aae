#include "recurrent/execution_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "recurrent/number_type.h"
#include "recurrent/onednn_log.h"
#include "recurrent/operator_log.h"

namespace rnnlab {
namespace {

std::string gemms_a_step(const LayerCall& call) {
  const double gemms = static_cast<double>(call.num_gemms) / static_cast<double>(call.cell_steps);
  return fmt::format("{:.3g} GEMMs a step", gemms);
}

ExecutionPath describe_cudnn(const CudnnCall& call) {
  const auto forward = words_for(cudnn_algorithm(call, CudnnPass::kForward));
  const auto backward = words_for(cudnn_algorithm(call, CudnnPass::kBackward));
  const std::string algorithm = forward == backward
                                    ? fmt::format("{} algorithm", forward)
                                    : fmt::format("{} algorithm forward, {} backward", forward, backward);
  ExecutionPath path = {fmt::format("cuDNN {} ({})", algorithm, number_type_name(call.type)), {}};
  add_once(path.notes, why_standard(call));
  return path;
}

ExecutionPath describe_onednn(const std::vector<OnednnCall>& calls) {
  if (calls.empty()) return {"oneDNN rnn", {"oneDNN's implementation is not known: its log could not be caught"}};
  std::vector<std::string> implementations;
  for (const OnednnCall& call : calls) add_once(implementations, call.implementation);
  const bool is_training = calls.front().propagation != "forward_inference";
  const auto is_reference = [](const std::string& name) { return name.starts_with("ref"); };
  ExecutionPath path = {
      fmt::format("oneDNN rnn {} ({})", join(implementations, " and "), is_training ? "training" : "inference"), {}};
  if (is_training && std::any_of(implementations.begin(), implementations.end(), is_reference))
    path.notes.push_back("oneDNN's faster brgemm kernels run in inference only, or in bfloat16 on a CPU that has it");
  return path;
}

std::string why_no_library(const LayerCall& call) {
  if (call.is_cuda) return "LibTorch did not choose cuDNN for this layer";
  if (call.recurrent_operator != "aten::lstm") return "LibTorch has oneDNN run LSTM only";
  if (call.type == at::kDouble) return "oneDNN has no float64";
  if (call.is_packed) return "LibTorch does not give oneDNN sequences with lengths of their own";
  return fmt::format("LibTorch did not choose oneDNN for {} on this CPU", number_type_name(call.type));
}

ExecutionPath describe(const LayerCall& call, const std::vector<OnednnCall>& onednn_calls) {
  if (call.recurrent_kernel == "aten::mkldnn_rnn_layer") return describe_onednn(onednn_calls);
  if (call.recurrent_operator.empty()) return {fmt::format("native loop, {}", gemms_a_step(call)), {}};
  const std::string fused = call.recurrent_kernel.empty() ? "" : ", fused point-wise kernels";
  return {fmt::format("LibTorch's loop, {}{}", gemms_a_step(call), fused), {why_no_library(call)}};
}

std::vector<ExecutionPath> paths_of(const LayerCall& call, const std::vector<OnednnCall>& onednn_calls) {
  if (!call.reported.empty()) return call.reported;
  if (call.cudnn.empty()) return {describe(call, onednn_calls)};
  std::vector<ExecutionPath> paths;
  for (const CudnnCall& cudnn : call.cudnn) paths.push_back(describe_cudnn(cudnn));
  return paths;
}

}  // namespace

ExecutionPath observe_execution_path(const std::function<void()>& training_step) {
  std::vector<LayerCall> calls;
  const auto onednn_calls = onednn_calls_during([&] { calls = layer_calls_during(training_step); });
  std::vector<std::string> paths, notes;
  for (const LayerCall& call : calls)
    for (const ExecutionPath& one : paths_of(call, onednn_calls)) {
      add_once(paths, one.path);
      for (const std::string& note : one.notes) add_once(notes, note);
    }
  if (paths.empty()) return {"no recurrent layer or convolution ran", {}};
  return {join(paths, "; "), notes};
}

}  // namespace rnnlab
