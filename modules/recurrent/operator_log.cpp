#include "recurrent/operator_log.h"

#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "recurrent/number_type.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {
namespace {

constexpr std::array<std::string_view, 4> kGemms = {"aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm"};
constexpr std::array<std::string_view, 4> kRecurrentOperators = {"aten::lstm", "aten::gru", "aten::rnn_tanh",
                                                                 "aten::rnn_relu"};
constexpr std::array<std::string_view, 4> kRecurrentKernels = {
    "aten::_cudnn_rnn", "aten::mkldnn_rnn_layer", "aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_gru_cell"};

// Operators that compute convolutions, and what people call them.
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
  bool is_inside = false;
};
thread_local Recorder* recorder = nullptr;

// Marks the end of the range, for the end callback.
struct RangeContext : at::ObserverContext {};

// cuDNN's numbers for its cells, which LibTorch passes as `mode`.
Cell cell_of_cudnn_mode(int64_t mode) {
  constexpr std::array<Cell, 4> kModes = {Cell::kRnnRelu, Cell::kRnnTanh, Cell::kLstm, Cell::kGru};
  return kModes.at(static_cast<size_t>(mode));
}

// Positions in the arguments of at::_cudnn_rnn, LibTorch 2.11.
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

std::vector<LayerCall> layer_calls_during(const std::function<void()>& work) {
  Recorder target;
  const Recording recording(target);
  work();
  return target.calls;
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

}  // namespace rnnlab
