// SPDX-License-Identifier: Apache-2.0
#include "layers/cudnn/rnn_descriptor.h"

#include <ATen/Context.h>
#include <ATen/cudnn/Handle.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "layers/cells/cell.h"
#include "layers/device/number_types.h"

namespace rnnlab {

RnnShape shape_of(const RecurrentOptions& options, const at::Tensor& input, Passes passes) {
  const at::ScalarType type = input.scalar_type();
  const bool runs_tf32 = type == at::kFloat && at::globalContext().allowTF32CuDNN(at::Float32Op::RNN);
  return {.cell = options.cell,
          .type = type,
          .float32_math = runs_tf32 ? Float32Math::kTf32 : Float32Math::kFma,
          .passes = passes,
          .num_steps = input.size(0),
          .batch_size = input.size(1),
          .input_size = options.input_size,
          .hidden_size = options.hidden_size,
          .num_layers = options.num_layers,
          .num_directions = options.num_directions()};
}

std::string precision_of(const RnnShape& shape) {
  const std::string name(number_type_name(shape.type));
  return shape.float32_math == Float32Math::kTf32 ? name + ", TF32" : name;
}

std::string text_of(const RnnShape& shape) {
  return fmt::format("{} in {}, T {}, B {}, I {}, H {}, L {}, D {}", cell_name(shape.cell), precision_of(shape),
                     shape.num_steps, shape.batch_size, shape.input_size, shape.hidden_size, shape.num_layers,
                     shape.num_directions);
}

std::string words_of(cudnnStatus_t status) {
  std::array<char, 1024> buffer = {};
  cudnnGetLastErrorString(buffer.data(), buffer.size() - 1);
  std::string words(trim(buffer.data()));
  for (char& c : words)
    if (c == '\n') c = ' ';
  const std::string name = cudnnGetErrorString(status);
  return words.empty() ? name : fmt::format("{} ({})", name, words);
}

ExitCode exit_code_of(cudnnStatus_t status) {
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  const bool is_refusal = category == CUDNN_STATUS_BAD_PARAM || category == CUDNN_STATUS_NOT_SUPPORTED;
  return is_refusal ? ExitCode::kUsage : ExitCode::kDevice;
}

void check_cudnn(cudnnStatus_t status, const char* function) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw_error(ExitCode::kDevice, "{} failed: {}", function, words_of(status));
}

namespace {

cudnnRNNAlgo_t cudnn_name_of(CudnnAlgorithm algorithm) {
  switch (algorithm) {
    case CudnnAlgorithm::kStandard:
      return CUDNN_RNN_ALGO_STANDARD;
    case CudnnAlgorithm::kPersistStatic:
      return CUDNN_RNN_ALGO_PERSIST_STATIC;
    case CudnnAlgorithm::kPersistDynamic:
      return CUDNN_RNN_ALGO_PERSIST_DYNAMIC;
    case CudnnAlgorithm::kSmallHidden:
      return CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;
    case CudnnAlgorithm::kAuto:
      break;
  }
  RNNLAB_INVARIANT(false, "auto must be resolved to an algorithm before cuDNN is called");
  return CUDNN_RNN_ALGO_STANDARD;
}

cudnnRNNMode_t cudnn_name_of(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
      return CUDNN_LSTM;
    case LibraryCell::kGru:
      return CUDNN_GRU;
    case LibraryCell::kRnnTanh:
      return CUDNN_RNN_TANH;
    case LibraryCell::kRnnRelu:
      return CUDNN_RNN_RELU;
  }
  RNNLAB_INVARIANT(false, "cuDNN does not have this cell");
  return CUDNN_LSTM;
}

cudnnDataType_t cudnn_name_of(at::ScalarType type) {
  if (type == at::kFloat) return CUDNN_DATA_FLOAT;
  if (type == at::kDouble) return CUDNN_DATA_DOUBLE;
  if (type == at::kHalf) return CUDNN_DATA_HALF;
  RNNLAB_INVARIANT(type == at::kBFloat16, fmt::format("cuDNN has no recurrent layers in {}", c10::toString(type)));
  return CUDNN_DATA_BFLOAT16;
}

cudnnMathType_t math_of(const RnnShape& shape) {
  if (shape.type == at::kHalf || shape.type == at::kBFloat16) return CUDNN_TENSOR_OP_MATH;
  return shape.float32_math == Float32Math::kTf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

}  // namespace

RnnDescriptor::RnnDescriptor(const RnnShape& shape, CudnnAlgorithm algorithm, SequenceLengths lengths)
    : shape_(shape), algorithm_(algorithm) {
  const cudnnHandle_t handle = at::native::getCudnnHandle();
  check(cudnnSetDropoutDescriptor(no_dropout_.get(), handle, 0.0F, nullptr, 0, 0), "cudnnSetDropoutDescriptor");
  const auto accumulation = shape.type == at::kDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const auto directions = shape.num_directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL;
  const auto padding = lengths == SequenceLengths::kVaried ? CUDNN_RNN_PADDED_IO_ENABLED : CUDNN_RNN_PADDED_IO_DISABLED;
  const auto input_size = static_cast<int32_t>(shape.input_size), hidden_size = static_cast<int32_t>(shape.hidden_size);
  check(cudnnSetRNNDescriptor_v8(rnn_.get(), cudnn_name_of(algorithm), cudnn_name_of(shape.cell), CUDNN_RNN_DOUBLE_BIAS,
                                 directions, CUDNN_LINEAR_INPUT, data_type(), accumulation, math_of(shape), input_size,
                                 hidden_size, /*projSize=*/hidden_size, static_cast<int32_t>(shape.num_layers),
                                 no_dropout_.get(), padding),
        "cudnnSetRNNDescriptor_v8");
  if (algorithm == CudnnAlgorithm::kPersistDynamic)
    check(cudnnBuildRNNDynamic(handle, rnn_.get(), static_cast<int>(shape.batch_size)), "cudnnBuildRNNDynamic");
}

cudnnDataType_t RnnDescriptor::data_type() const { return cudnn_name_of(shape_.type); }

size_t RnnDescriptor::weight_bytes() const {
  size_t bytes = 0;
  check(cudnnGetRNNWeightSpaceSize(at::native::getCudnnHandle(), get(), &bytes), "cudnnGetRNNWeightSpaceSize");
  return bytes;
}

RnnDescriptor::Gate RnnDescriptor::gate(const void* base, int64_t pseudo_layer, int64_t linear_layer) const {
  const CudnnTensor matrix, bias;
  void *matrix_address = nullptr, *bias_address = nullptr;
  check(cudnnGetRNNWeightParams(at::native::getCudnnHandle(), get(), static_cast<int32_t>(pseudo_layer), weight_bytes(),
                                base, static_cast<int32_t>(linear_layer), matrix.get(), &matrix_address, bias.get(),
                                &bias_address),
        "cudnnGetRNNWeightParams");
  const auto elements_to = [&](const void* address) {
    const ptrdiff_t bytes = static_cast<const char*>(address) - static_cast<const char*>(base);
    const auto element = static_cast<ptrdiff_t>(c10::elementSize(shape_.type));
    RNNLAB_INVARIANT(bytes >= 0 && bytes % element == 0, "a parameter lies outside cuDNN's weight space");
    return static_cast<int64_t>(bytes / element);
  };
  return {elements_to(matrix_address), elements_to(bias_address)};
}

RnnDescriptor::Gate RnnDescriptor::gates(const void* base, int64_t pseudo_layer, Side side) const {
  const int64_t num = num_gates(shape_.cell), hidden_size = shape_.hidden_size;
  const bool is_first = pseudo_layer < shape_.num_directions;
  const int64_t input_columns = is_first ? shape_.input_size : shape_.num_directions * hidden_size;
  const int64_t columns = side == Side::kInput ? input_columns : hidden_size;
  const int64_t first_linear_layer = side == Side::kInput ? 0 : num;
  const Gate first = gate(base, pseudo_layer, first_linear_layer);
  for (int64_t i = 1; i < num; ++i) {
    const Gate next = gate(base, pseudo_layer, first_linear_layer + i);
    RNNLAB_INVARIANT(
        next.matrix == first.matrix + i * hidden_size * columns && next.bias == first.bias + i * hidden_size,
        fmt::format("the gates of {} are not contiguous in cuDNN's weight space", text_of(shape_)));
  }
  return first;
}

WeightLayout RnnDescriptor::weight_layout(const void* base) const {
  const auto element = static_cast<int64_t>(c10::elementSize(shape_.type));
  WeightLayout layout = {.num_elements = static_cast<int64_t>(weight_bytes()) / element, .offsets = {}};
  for (int64_t pseudo_layer = 0; pseudo_layer < shape_.num_layers * shape_.num_directions; ++pseudo_layer) {
    const Gate input = gates(base, pseudo_layer, Side::kInput);
    const Gate recurrent = gates(base, pseudo_layer, Side::kRecurrent);
    for (const int64_t offset : {input.matrix, recurrent.matrix, input.bias, recurrent.bias})
      layout.offsets.push_back(offset);
  }
  return layout;
}

void RnnDescriptor::check(cudnnStatus_t status, const char* function) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const UserError failure = failure_of(shape_, algorithm_, status, function);
  cudaGetLastError();  // clears the error of a rejected launch, which LibTorch's next operator would report again
  throw failure;
}

UserError failure_of(const RnnShape& shape, CudnnAlgorithm algorithm, cudnnStatus_t status, const char* function) {
  const ExitCode exit_code = exit_code_of(status);
  const bool is_standard = algorithm == CudnnAlgorithm::kStandard;
  return {exit_code, fmt::format("cudnn_algorithm: {} {} {}: {} says {}; use {}", config::name_of(algorithm),
                                 exit_code == ExitCode::kUsage ? "cannot run" : "failed at", text_of(shape), function,
                                 words_of(status), is_standard ? "layer: fused" : "cudnn_algorithm: standard")};
}

}  // namespace rnnlab
