// SPDX-License-Identifier: Apache-2.0
#include "layers/execution_path.h"

#include <ATen/native/verbose_wrapper.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "layers/cells/cell.h"
#include "layers/device/number_types.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

namespace {

int64_t small_hidden_limit(Cell cell, CudnnPass pass) {
  const bool is_gated = num_gates(cell) > 1;
  if (pass == CudnnPass::kForward) return is_gated ? 192 : 384;
  return is_gated ? 128 : 256;
}

bool fits_persist_static(const CudnnCall& call) {
  if (call.type != at::kHalf || call.cell == Cell::kGru) return false;
  const bool shape_fits = call.num_layers == 1 && call.num_directions == 1 && call.hidden_size <= 1024 &&
                          call.hidden_size % 128 == 0 && call.input_size % 128 == 0;
  const bool batch_fits = call.batch_size % 8 == 0 && call.batch_size <= 128;
  const bool too_wide = call.cell != Cell::kLstm && call.batch_size >= 96 && call.hidden_size >= 896;
  return shape_fits && batch_fits && !too_wide;
}

}  // namespace

CudnnAlgorithm cudnn_algorithm(const CudnnCall& call, CudnnPass pass) {
  if (call.sequences == CudnnSequences::kPacked) return CudnnAlgorithm::kStandard;
  if (call.type != at::kDouble && call.hidden_size <= small_hidden_limit(call.cell, pass))
    return CudnnAlgorithm::kSmallHidden;
  return fits_persist_static(call) ? CudnnAlgorithm::kPersistStatic : CudnnAlgorithm::kStandard;
}

std::string_view algorithm_text(CudnnAlgorithm algorithm) {
  switch (algorithm) {
    case CudnnAlgorithm::kAuto:
      return "auto";
    case CudnnAlgorithm::kStandard:
      return "standard";
    case CudnnAlgorithm::kPersistStatic:
      return "persist static";
    case CudnnAlgorithm::kPersistDynamic:
      return "persist dynamic";
    case CudnnAlgorithm::kSmallHidden:
      return "persist static small-H";
  }
  RNNLAB_INVARIANT(false, "algorithm_text does not know the algorithm");
  return "";
}

std::string why_standard(const CudnnCall& call) {
  for (const CudnnPass pass : {CudnnPass::kForward, CudnnPass::kBackward})
    if (cudnn_algorithm(call, pass) != CudnnAlgorithm::kStandard) return "";
  if (call.sequences == CudnnSequences::kPacked)
    return "LibTorch asks cuDNN for its standard algorithm when sequences have lengths of their own";
  if (call.type == at::kDouble) return "LibTorch asks cuDNN for its standard algorithm in float64";
  return fmt::format(
      "LibTorch asks cuDNN for small-H up to hidden_size {} (backward {}), and for persist static in float16 only, "
      "with one layer in one direction",
      small_hidden_limit(call.cell, CudnnPass::kForward), small_hidden_limit(call.cell, CudnnPass::kBackward));
}

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

void flush_standard_output() {
  std::cout.flush();
  std::fflush(stdout);
}

// Redirects standard output to a temporary file during its lifetime.
class CaughtOutput {
 public:
  // Returns null if a temporary file cannot be created.
  static std::unique_ptr<CaughtOutput> begin() {
    File file(std::tmpfile(), &std::fclose);
    const int original = ::dup(STDOUT_FILENO);
    if (original < 0) return nullptr;
    flush_standard_output();
    if (!file || ::dup2(::fileno(file.get()), STDOUT_FILENO) < 0) {
      ::close(original);
      return nullptr;
    }
    return std::unique_ptr<CaughtOutput>(new CaughtOutput(std::move(file), original));
  }

  ~CaughtOutput() { restore(); }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  std::string end() {
    restore();
    std::string text;
    if (std::fseek(file_.get(), 0, SEEK_SET) != 0) return text;
    char buffer[1 << 14];
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, file_.get())) text.append(buffer, count);
    return text;
  }

 private:
  CaughtOutput(File file, int original) : file_(std::move(file)), original_(original) {}

  void restore() {
    if (original_ < 0) return;
    flush_standard_output();
    ::dup2(original_, STDOUT_FILENO);
    ::close(original_);
    original_ = -1;
  }

  File file_;
  int original_;
};

class OnednnSpeaks {
 public:
  OnednnSpeaks() { torch::verbose::_mkldnn_set_verbose(1); }
  ~OnednnSpeaks() { torch::verbose::_mkldnn_set_verbose(0); }
  OnednnSpeaks(const OnednnSpeaks&) = delete;
  OnednnSpeaks& operator=(const OnednnSpeaks&) = delete;
};

// Prints the lines that are not oneDNN's, also if `work` has thrown.
std::vector<OnednnCall> print_others(const std::string& caught) {
  std::string others;
  auto calls = parse_onednn_log(caught, others);
  std::fwrite(others.data(), 1, others.size(), stdout);
  std::fflush(stdout);
  return calls;
}

}  // namespace

std::vector<OnednnCall> onednn_calls_during(const std::function<void()>& work) {
  const auto output = CaughtOutput::begin();
  if (!output) {
    work();
    return {};
  }
  try {
    const OnednnSpeaks speaks;
    work();
  } catch (...) {
    print_others(output->end());
    throw;
  }
  return print_others(output->end());
}

std::vector<OnednnCall> parse_onednn_log(std::string_view log, std::string& others) {
  std::vector<OnednnCall> calls;
  while (!log.empty()) {
    const size_t line_end = std::min(log.find('\n'), log.size() - 1);
    const std::string_view line = log.substr(0, line_end + 1);
    log.remove_prefix(line.size());
    if (!line.starts_with("onednn_verbose,")) {
      others += line;
      continue;
    }
    const std::vector<std::string> fields = split(line, ',');
    const auto kind = std::find(fields.begin(), fields.end(), "rnn");
    if (std::find(fields.begin(), kind, "exec") != kind && fields.end() - kind > 2) calls.push_back({kind[1], kind[2]});
  }
  return calls;
}

namespace {

std::string gemms_a_step(const LayerCall& call) {
  const double gemms = static_cast<double>(call.num_gemms) / static_cast<double>(call.cell_steps);
  return fmt::format("{:.3g} GEMMs a step", gemms);
}

ExecutionPath describe_cudnn(const CudnnCall& call) {
  const auto forward = algorithm_text(cudnn_algorithm(call, CudnnPass::kForward));
  const auto backward = algorithm_text(cudnn_algorithm(call, CudnnPass::kBackward));
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
    path.notes.emplace_back(
        "oneDNN's faster brgemm kernels run in inference only, or in bfloat16 on a CPU that has it");
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

namespace {

constexpr std::array<std::string_view, 4> kGemms = {"aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm"};
constexpr std::array<std::string_view, 4> kRecurrentOperators = {"aten::lstm", "aten::gru", "aten::rnn_tanh",
                                                                 "aten::rnn_relu"};
constexpr std::array<std::string_view, 4> kRecurrentKernels = {
    "aten::_cudnn_rnn", "aten::mkldnn_rnn_layer", "aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_gru_cell"};

// Operators that compute convolutions, and their names for people.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kConvolutions = {
    {{"aten::cudnn_convolution", "cuDNN"},
     {"aten::mkldnn_convolution", "oneDNN"},
     {"aten::_conv_depthwise2d", "LibTorch's depthwise"},
     {"aten::_slow_conv2d_forward", "LibTorch's own"}}};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Recorder {
  std::vector<LayerCall> calls;
  std::vector<PathFallback> fallbacks;
  bool is_inside = false;
};
thread_local Recorder* recorder = nullptr;

// Marks the end of the range for the end callback.
struct RangeContext : at::ObserverContext {};

// Converts cuDNN's numbers of its cells, which LibTorch passes as `mode`.
Cell cell_of_cudnn_mode(int64_t mode) {
  constexpr std::array<Cell, 4> kModes = {Cell::kRnnRelu, Cell::kRnnTanh, Cell::kLstm, Cell::kGru};
  return kModes.at(static_cast<size_t>(mode));
}

// Reads the arguments of at::_cudnn_rnn by their positions in LibTorch 2.11.
CudnnCall cudnn_call(c10::ArrayRef<const c10::IValue> arguments) {
  constexpr size_t kInput = 0, kHidden = 4, kMode = 6, kHiddenSize = 7, kNumLayers = 9;
  constexpr size_t kBidirectional = 13, kBatchSizes = 14;
  const at::Tensor& input = arguments[kInput].toTensor();
  CudnnCall call;
  call.cell = cell_of_cudnn_mode(arguments[kMode].toInt());
  call.input_size = input.size(-1);
  call.hidden_size = arguments[kHiddenSize].toInt();
  call.batch_size = arguments[kHidden].toTensor().size(1);
  call.num_layers = arguments[kNumLayers].toInt();
  call.num_directions = arguments[kBidirectional].toBool() ? 2 : 1;
  call.type = input.scalar_type();
  const bool is_packed = arguments[kBatchSizes].toListRef().size() > 0;
  call.sequences = is_packed ? CudnnSequences::kPacked : CudnnSequences::kWhole;
  return call;
}

void record_inside(const at::RecordFunction& function, std::string_view name, LayerCall& call) {
  if (contains(kGemms, name)) ++call.num_gemms;
  if (name == "aten::_pack_padded_sequence") call.is_packed = true;
  if (contains(kRecurrentOperators, name)) {
    call.recurrent_operator = name;
    const at::Tensor& input = function.inputs()[0].toTensor();
    call.is_cuda = input.is_cuda();
    call.type = input.scalar_type();
  }
  if (contains(kRecurrentKernels, name)) call.recurrent_kernel = name;
  if (name == "aten::_cudnn_rnn") call.cudnn.push_back(cudnn_call(function.inputs()));
}

void record_convolution(const at::RecordFunction& function, std::string_view name) {
  const auto* const convolution = std::ranges::find(kConvolutions, name, [](const auto& one) { return one.first; });
  if (convolution == kConvolutions.end()) return;
  const auto type = number_type_name(function.inputs()[0].toTensor().scalar_type());
  recorder->calls.emplace_back().reported.push_back(
      {fmt::format("{} convolution ({})", convolution->second, type), {}});
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  if (recorder == nullptr) return nullptr;
  const std::string_view name = function.name();
  if (recorder->is_inside) {
    record_inside(function, name, recorder->calls.back());
    return nullptr;
  }
  if (name != kForwardRange) {
    record_convolution(function, name);
    return nullptr;
  }
  recorder->is_inside = true;
  recorder->calls.emplace_back().cell_steps = function.inputs()[0].toInt();
  return std::make_unique<RangeContext>();
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (recorder != nullptr && context != nullptr) recorder->is_inside = false;
}

class Recording {
 public:
  explicit Recording(Recorder& target) {
    recorder = &target;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&on_start, &on_end)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
  }
  ~Recording() {
    at::removeCallback(handle_);
    recorder = nullptr;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  at::CallbackHandle handle_;
};

}  // namespace

namespace {

Recorder record(const std::function<void()>& work) {
  Recorder target;
  const Recording recording(target);
  work();
  return target;
}

// On a CPU, LibTorch's own loop is what `fused` means for most cells (docs/layers.md).
std::optional<PathFallback> fallback_of_library(const LayerCall& call) {
  const bool chose_library = !call.cudnn.empty() || call.recurrent_kernel == "aten::_cudnn_rnn";
  if (!call.is_cuda || call.recurrent_operator.empty() || chose_library) return std::nullopt;
  return PathFallback{"layer", "LibTorch's loop without cuDNN", why_no_library(call)};
}

void add_fallback(std::vector<PathFallback>& all, const PathFallback& one) {
  const auto is_same = [&](const PathFallback& other) { return other.key == one.key && other.reason == one.reason; };
  if (std::ranges::none_of(all, is_same)) all.push_back(one);
}

}  // namespace

std::vector<LayerCall> layer_calls_during(const std::function<void()>& work) { return record(work).calls; }

ExecutionPath observe_execution_path(const std::function<void()>& training_step) {
  Recorder seen;
  const auto onednn_calls = onednn_calls_during([&] { seen = record(training_step); });
  std::vector<std::string> paths, notes;
  std::vector<PathFallback> fallbacks;
  for (const PathFallback& one : seen.fallbacks) add_fallback(fallbacks, one);
  for (const LayerCall& call : seen.calls) {
    if (const auto fallback = fallback_of_library(call)) add_fallback(fallbacks, *fallback);
    for (const ExecutionPath& one : paths_of(call, onednn_calls)) {
      add_once(paths, one.path);
      for (const std::string& note : one.notes) add_once(notes, note);
    }
  }
  if (paths.empty()) return {"no recurrent layer or convolution ran", {}, fallbacks};
  return {join(paths, "; "), notes, fallbacks};
}

void without_observer(const std::function<void()>& work) {
  class Pause {
   public:
    Pause() : paused_(std::exchange(recorder, nullptr)) {}
    ~Pause() { recorder = paused_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Recorder* paused_;
  };
  const Pause pause;
  work();
}

void report_path(const std::function<ExecutionPath()>& describe) {
  if (recorder == nullptr) return;
  LayerCall& call = recorder->is_inside ? recorder->calls.back() : recorder->calls.emplace_back();
  call.reported.push_back(describe());
}

void report_fallback(const std::function<PathFallback()>& describe) {
  if (recorder != nullptr) recorder->fallbacks.push_back(describe());
}

}  // namespace rnnlab
