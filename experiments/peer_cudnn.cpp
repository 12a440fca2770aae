// SPDX-License-Identifier: Apache-2.0
// An LSTM by cuDNN alone, each pass started by the host, without LibTorch: what docs/results sets `layer: cudnn`
// beside. Prints the median milliseconds of forward, backward-data and backward-weights, and of all three.
//
//   N=$(dirname $(readlink -f .venv/torch))/nvidia
//   g++ -O2 -std=c++20 -I$N/cudnn/include -I$N/cu13/include experiments/peer_cudnn.cpp -o build/peer_cudnn
//       $N/cudnn/lib/libcudnn.so.9 $N/cu13/lib/libcudart.so.13                                          (one line)
//   LD_LIBRARY_PATH=$N/cudnn/lib:$N/cu13/lib build/peer_cudnn 128 28 28 128 1 tf32 small_hidden
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

void check(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::fprintf(stderr, "cuDNN: %s\n", cudnnGetErrorString(status));
  std::exit(4);
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(4);
}

// Zeroed memory of the GPU. Times do not depend on the numbers in it.
void* zeros(size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<size_t>(bytes, 1)));
  check(cudaMemset(memory, 0, bytes));
  return memory;
}

double median_ms(const std::function<void()>& pass) {
  constexpr int kWarmUp = 5, kSamples = 20;
  std::vector<double> samples;
  for (int i = 0; i < kWarmUp + kSamples; ++i) {
    check(cudaDeviceSynchronize());
    const auto began = std::chrono::steady_clock::now();
    pass();
    check(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - began;
    if (i >= kWarmUp) samples.push_back(time.count());
  }
  std::ranges::nth_element(samples, samples.begin() + kSamples / 2);
  return samples[kSamples / 2];
}

struct Shape {
  int batch, steps, input, hidden, layers;
};

struct Precision {
  cudnnDataType_t type;
  cudnnMathType_t math;
};

const std::map<std::string, Precision> kPrecisions = {{"fp32", {CUDNN_DATA_FLOAT, CUDNN_FMA_MATH}},
                                                      {"tf32", {CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH}},
                                                      {"fp16", {CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH}},
                                                      {"bf16", {CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH}}};
const std::map<std::string, cudnnRNNAlgo_t> kAlgorithms = {{"standard", CUDNN_RNN_ALGO_STANDARD},
                                                           {"persist_static", CUDNN_RNN_ALGO_PERSIST_STATIC},
                                                           {"small_hidden", CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H}};

cudnnRNNDescriptor_t make_rnn(cudnnHandle_t handle, const Shape& s, Precision precision, cudnnRNNAlgo_t algorithm) {
  cudnnDropoutDescriptor_t no_dropout = nullptr;
  check(cudnnCreateDropoutDescriptor(&no_dropout));
  check(cudnnSetDropoutDescriptor(no_dropout, handle, 0, nullptr, 0, 0));
  cudnnRNNDescriptor_t rnn = nullptr;
  check(cudnnCreateRNNDescriptor(&rnn));
  check(cudnnSetRNNDescriptor_v8(rnn, algorithm, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL,
                                 CUDNN_LINEAR_INPUT, precision.type, CUDNN_DATA_FLOAT, precision.math, s.input,
                                 s.hidden, s.hidden, s.layers, no_dropout, CUDNN_RNN_PADDED_IO_DISABLED));
  return rnn;
}

cudnnRNNDataDescriptor_t make_sequence(const Shape& s, int width, cudnnDataType_t type) {
  const std::vector<int> lengths(s.batch, s.steps);
  cudnnRNNDataDescriptor_t data = nullptr;
  check(cudnnCreateRNNDataDescriptor(&data));
  check(cudnnSetRNNDataDescriptor(data, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, s.steps, s.batch, width,
                                  lengths.data(), nullptr));
  return data;
}

cudnnTensorDescriptor_t make_state(const Shape& s, cudnnDataType_t type) {
  const int sizes[] = {s.layers, s.batch, s.hidden}, strides[] = {s.batch * s.hidden, s.hidden, 1};
  cudnnTensorDescriptor_t state = nullptr;
  check(cudnnCreateTensorDescriptor(&state));
  check(cudnnSetTensorNdDescriptor(state, type, 3, sizes, strides));
  return state;
}

void measure(const Shape& s, Precision precision, cudnnRNNAlgo_t algorithm) {
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle));
  const auto rnn = make_rnn(handle, s, precision, algorithm);
  const auto input = make_sequence(s, s.input, precision.type), output = make_sequence(s, s.hidden, precision.type);
  const auto state = make_state(s, precision.type);
  size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  check(cudnnGetRNNWeightSpaceSize(handle, rnn, &weight_bytes));
  check(cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, input, &work_bytes, &reserve_bytes));
  const size_t element = precision.type == CUDNN_DATA_FLOAT ? 4 : 2, steps = static_cast<size_t>(s.batch) * s.steps;
  void *x = zeros(steps * s.input * element), *dx = zeros(steps * s.input * element);
  void *y = zeros(steps * s.hidden * element), *dy = zeros(steps * s.hidden * element);
  void *weights = zeros(weight_bytes), *d_weights = zeros(weight_bytes), *work = zeros(work_bytes);
  void* reserve = zeros(reserve_bytes);
  const std::vector<int32_t> host_lengths(s.batch, s.steps);
  auto* lengths = static_cast<int32_t*>(zeros(s.batch * sizeof(int32_t)));
  check(cudaMemcpy(lengths, host_lengths.data(), s.batch * sizeof(int32_t), cudaMemcpyHostToDevice));
  const auto forward = [&] {
    check(cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, lengths, input, x, output, y, state, nullptr, nullptr,
                          state, nullptr, nullptr, weight_bytes, weights, work_bytes, work, reserve_bytes, reserve));
  };
  const auto backward_data = [&] {
    check(cudnnRNNBackwardData_v8(handle, rnn, lengths, output, y, dy, input, dx, state, nullptr, nullptr, nullptr,
                                  state, nullptr, nullptr, nullptr, weight_bytes, weights, work_bytes, work,
                                  reserve_bytes, reserve));
  };
  const auto backward_weights = [&] {
    check(cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_ADD, lengths, input, x, state, nullptr, output, y,
                                     weight_bytes, d_weights, work_bytes, work, reserve_bytes, reserve));
  };
  const auto all = [&] { forward(), backward_data(), backward_weights(); };
  const double forward_ms = median_ms(forward), all_ms = median_ms(all);
  const double data_ms = median_ms([&] { forward(), backward_data(); }) - forward_ms;
  std::printf("forward %.3f ms, backward-data %.3f, backward-weights %.3f, all %.3f (cuDNN %zu)\n", forward_ms, data_ms,
              all_ms - forward_ms - data_ms, all_ms, cudnnGetVersion());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8 || !kPrecisions.contains(argv[6]) || !kAlgorithms.contains(argv[7])) {
    std::fprintf(stderr,
                 "usage: peer_cudnn BATCH STEPS INPUT HIDDEN LAYERS fp32|tf32|fp16|bf16 "
                 "standard|persist_static|small_hidden\n");
    return 2;
  }
  const Shape shape = {std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                       std::atoi(argv[5])};
  measure(shape, kPrecisions.at(argv[6]), kAlgorithms.at(argv[7]));
}
