// SPDX-License-Identifier: Apache-2.0
#include "layers/execution_path.h"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <stdexcept>

#include "golden.h"
#include "layers/on_cuda.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kSteps = 7, kBatch = 4;

RecurrentOptions options_of(Cell cell) { return {.cell = cell, .input_size = 5, .hidden_size = 8}; }

void train_one_step(RecurrentLayer& layer, at::Device device, at::ScalarType type, const at::Tensor& lengths = {}) {
  const at::Tensor input = at::randn({kSteps, kBatch, layer.options().input_size}, at::device(device).dtype(type));
  layer.forward(input, {}, lengths).output.sum().backward();
}

ExecutionPath path_of(LayerKind kind, const RecurrentOptions& options, at::Device device = at::kCPU,
                      at::ScalarType type = at::kFloat, const at::Tensor& lengths = {}) {
  const auto layer = make_layer(kind, options);
  layer->to(device, type);
  return observe_execution_path([&] { train_one_step(*layer, device, type, lengths); });
}

at::Tensor varied_lengths() { return at::tensor({7, 2, 1, 5}, at::kLong); }

TEST(ExecutionPath, NaiveIsALoopOfEightSixOrTwoGemmsAStep) {
  for (const auto& [cell, gemms] :
       {std::pair(Cell::kLstm, 8), {Cell::kGru, 6}, {Cell::kRnnTanh, 2}, {Cell::kRnnRelu, 2}})
    EXPECT_THAT(path_of(LayerKind::kNaive, options_of(cell)).path, HasSubstr(fmt::format(" {} GEMMs", gemms)));
}

TEST(ExecutionPath, NaiveCountsEveryLayerAndDirection) {
  RecurrentOptions options = options_of(Cell::kLstm);
  options.num_layers = 3;
  options.bidirectional = true;
  const ExecutionPath path = path_of(LayerKind::kNaive, options, at::kCPU, at::kFloat, varied_lengths());
  EXPECT_EQ(path.path, "native loop, 8 GEMMs a step");
  EXPECT_THAT(path.notes, IsEmpty());
}

TEST(ExecutionPath, FusedLstmInFloat32TrainsOnOnednn) {
  const ExecutionPath path = path_of(LayerKind::kFused, options_of(Cell::kLstm));
  EXPECT_EQ(path.path, "oneDNN rnn ref (training)");
  expect_golden(path.notes);
}

TEST(ExecutionPath, FusedLstmUnderAutocastIsSeenToo) {
  const auto layer = make_layer(LayerKind::kFused, options_of(Cell::kLstm));
  const Autocast autocast(at::kCPU);
  const ExecutionPath path = observe_execution_path([&] { train_one_step(*layer, at::kCPU, at::kFloat); });
  EXPECT_THAT(path.path, ::testing::AnyOf(StartsWith("oneDNN rnn "), StartsWith("LibTorch's loop, ")));
  if (path.path.starts_with("oneDNN")) return;
  EXPECT_THAT(path.notes, ElementsAre(HasSubstr("bfloat16")));
}

TEST(ExecutionPath, FusedFallsBackToLibTorchsLoopAndSaysWhy) {
  const ExecutionPath gru = path_of(LayerKind::kFused, options_of(Cell::kGru));
  EXPECT_EQ(gru.path, "LibTorch's loop, 1.14 GEMMs a step");  // one for all inputs, and one a step
  expect_golden(gru.notes);

  const ExecutionPath float64 = path_of(LayerKind::kFused, options_of(Cell::kLstm), at::kCPU, at::kDouble);
  EXPECT_THAT(float64.notes, ElementsAre("oneDNN has no float64"));

  const auto packed = path_of(LayerKind::kFused, options_of(Cell::kLstm), at::kCPU, at::kFloat, varied_lengths());
  expect_golden(packed.notes);
}

TEST(ExecutionPath, DifferentLayersInOneStepAreAllListedOnce) {
  const auto naive = make_layer(LayerKind::kNaive, options_of(Cell::kLstm));
  const auto fused = make_layer(LayerKind::kFused, options_of(Cell::kLstm));
  const ExecutionPath path = observe_execution_path([&] {
    train_one_step(*naive, at::kCPU, at::kFloat);
    train_one_step(*fused, at::kCPU, at::kFloat);
    train_one_step(*naive, at::kCPU, at::kFloat);
  });
  expect_golden(path.path);
}

TEST(ExecutionPath, AStepWithoutARecurrentLayerOrConvolutionSaysSo) {
  expect_golden(observe_execution_path([] { at::randn({2, 2}); }).path);
}

TEST(ExecutionPath, AThrowingStepPassesThroughAndLeavesNothingBehind) {
  EXPECT_THROW(observe_execution_path([] { throw std::runtime_error("the step"); }), std::runtime_error);
  const auto fused = make_layer(LayerKind::kFused, options_of(Cell::kLstm));
  ::testing::internal::CaptureStdout();
  train_one_step(*fused, at::kCPU, at::kFloat);
  std::puts("heard");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "heard\n");  // oneDNN is silent again
}

TEST(ExecutionPath, WhatTheStepPrintsIsPrinted) {
  const auto fused = make_layer(LayerKind::kFused, options_of(Cell::kLstm));
  ::testing::internal::CaptureStdout();
  std::printf("before ");
  observe_execution_path([&] {
    std::puts("within");
    train_one_step(*fused, at::kCPU, at::kFloat);
    std::printf("no newline");
  });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "before within\nno newline");
}

TEST(ExecutionPath, OnCudaFusedRunsCudnn) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  EXPECT_THAT(path_of(LayerKind::kFused, options_of(Cell::kLstm), at::kCUDA).path,
              EndsWith("small-H algorithm (float32)"));
  RecurrentOptions wide = options_of(Cell::kGru);
  wide.hidden_size = 160;
  EXPECT_THAT(path_of(LayerKind::kFused, wide, at::kCUDA).path, EndsWith("forward, standard backward (float32)"));
  const auto packed = path_of(LayerKind::kFused, options_of(Cell::kLstm), at::kCUDA, at::kFloat, varied_lengths());
  EXPECT_EQ(packed.path, "cuDNN standard algorithm (float32)");
  EXPECT_THAT(packed.notes, ElementsAre(HasSubstr("lengths")));
  EXPECT_EQ(path_of(LayerKind::kNaive, options_of(Cell::kLstm), at::kCUDA).path, "native loop, 8 GEMMs a step");
}

TEST(ExecutionPath, OnCudaPersistentNamesItsKernel) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const auto path = [](const RecurrentOptions& options) {
    return path_of(LayerKind::kPersistent, options, at::kCUDA, at::kBFloat16).path;
  };
  EXPECT_THAT(path({.input_size = 5, .hidden_size = 128}), EndsWith("(bfloat16), clusters of 4 blocks"));
  EXPECT_THAT(path({.input_size = 5, .hidden_size = 1024}), HasSubstr("(bfloat16), groups of 64 blocks"));
}

TEST(ExecutionPath, OnCudaAutocastIsSeenAsCudnnSeesIt) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  RecurrentOptions options = options_of(Cell::kLstm);
  options.num_layers = 2;
  options.dropout = 0.5;
  options.hidden_size = 256;
  const auto layer = make_layer(LayerKind::kFused, options);
  layer->to(at::kCUDA);
  const Autocast autocast(at::kCUDA);
  const ExecutionPath path = observe_execution_path([&] { train_one_step(*layer, at::kCUDA, at::kFloat); });
  EXPECT_EQ(path.path, "cuDNN standard algorithm (bfloat16)");
  EXPECT_THAT(path.notes, ElementsAre(HasSubstr("up to hidden_size 192")));
}

TEST(OnednnLog, GivesTheRecurrentCallsAndLeavesTheRest) {
  std::string others;
  const auto calls = parse_onednn_log(
      "onednn_verbose,v1,info,cpu,isa:Intel AVX-512\n"
      "onednn_verbose,v1,primitive,create:cache_miss,cpu,rnn,ref,forward_training,src_layer:f32\n"
      "onednn_verbose,v1,primitive,exec,cpu,rnn,ref,forward_training,src_layer:f32,alg:vanilla_lstm,0.5\n"
      "epoch 1, loss 0.5\n"
      "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32\n"
      "onednn_verbose,v1,primitive,exec,cpu,rnn,brgemm:avx512_core_bf16,backward,src_layer:bf16\n"
      "no newline",
      others);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].implementation, "ref");
  EXPECT_EQ(calls[0].propagation, "forward_training");
  EXPECT_EQ(calls[1].implementation, "brgemm:avx512_core_bf16");
  EXPECT_EQ(calls[1].propagation, "backward");
  EXPECT_EQ(others, "epoch 1, loss 0.5\nno newline");
}

TEST(OnednnLog, TakesBrokenLinesWithoutHarm) {
  std::string others;
  EXPECT_THAT(parse_onednn_log("onednn_verbose,v1,primitive,exec,cpu,rnn\nonednn_verbose,\n\n", others), IsEmpty());
  EXPECT_EQ(others, "\n");
  EXPECT_THAT(parse_onednn_log("", others), IsEmpty());
}

// ---- algorithms of cuDNN ----

struct Both {
  CudnnAlgorithm forward, backward;
  bool operator==(const Both&) const = default;
};

Both both(const CudnnCall& call) {
  return {cudnn_algorithm(call, CudnnPass::kForward), cudnn_algorithm(call, CudnnPass::kBackward)};
}

constexpr Both kBothStandard = {CudnnAlgorithm::kStandard, CudnnAlgorithm::kStandard};
constexpr Both kBothSmall = {CudnnAlgorithm::kSmallHidden, CudnnAlgorithm::kSmallHidden};
constexpr Both kSmallForwardOnly = {CudnnAlgorithm::kSmallHidden, CudnnAlgorithm::kStandard};
constexpr Both kBothPersistStatic = {CudnnAlgorithm::kPersistStatic, CudnnAlgorithm::kPersistStatic};

CudnnCall lstm(int64_t hidden_size, at::ScalarType type) {
  return {.cell = Cell::kLstm, .input_size = 512, .hidden_size = hidden_size, .batch_size = 64, .type = type};
}

TEST(CudnnAlgorithm, SmallHiddenSizesRunSmallHBackwardLessFar) {
  EXPECT_EQ(both(lstm(128, at::kFloat)), kBothSmall);
  EXPECT_EQ(both(lstm(129, at::kFloat)), kSmallForwardOnly);
  EXPECT_EQ(both(lstm(192, at::kBFloat16)), kSmallForwardOnly);
  EXPECT_EQ(both(lstm(193, at::kBFloat16)), kBothStandard);
}

TEST(CudnnAlgorithm, PlainCellsRunSmallHFurther) {
  CudnnCall call = lstm(256, at::kFloat);
  call.cell = Cell::kRnnTanh;
  EXPECT_EQ(both(call), kBothSmall);
  call.hidden_size = 384;
  EXPECT_EQ(both(call), kSmallForwardOnly);
  call.hidden_size = 385;
  EXPECT_EQ(both(call), kBothStandard);
}

TEST(CudnnAlgorithm, PersistStaticIsForFloat16AndOneLayerInOneDirection) {
  EXPECT_EQ(both(lstm(512, at::kHalf)), kBothPersistStatic);
  EXPECT_EQ(both(lstm(512, at::kBFloat16)), kBothStandard);
  for (const int64_t size : {500, 1152}) EXPECT_EQ(both(lstm(size, at::kHalf)), kBothStandard) << size;
  for (const auto& [member, value] : {std::pair(&CudnnCall::num_layers, 2),
                                      {&CudnnCall::num_directions, 2},
                                      {&CudnnCall::input_size, 28},
                                      {&CudnnCall::batch_size, 60},
                                      {&CudnnCall::batch_size, 136}}) {
    CudnnCall call = lstm(512, at::kHalf);
    call.*member = value;
    EXPECT_EQ(both(call), kBothStandard) << value;
  }
}

TEST(CudnnAlgorithm, PersistStaticLeavesOutGruAndWidePlainCells) {
  CudnnCall call = lstm(1024, at::kHalf);
  call.batch_size = 128;
  EXPECT_EQ(both(call), kBothPersistStatic);
  call.cell = Cell::kRnnRelu;
  EXPECT_EQ(both(call), kBothStandard);
  call.batch_size = 88;
  EXPECT_EQ(both(call), kBothPersistStatic);
  call.cell = Cell::kGru;
  EXPECT_EQ(both(call), kBothStandard);
}

TEST(CudnnAlgorithm, LengthsAndFloat64AreStandardAtAnySize) {
  CudnnCall call = lstm(64, at::kFloat);
  call.sequences = CudnnSequences::kPacked;
  EXPECT_EQ(both(call), kBothStandard);
  EXPECT_EQ(both(lstm(64, at::kDouble)), kBothStandard);
}

TEST(CudnnAlgorithm, SaysWhyItIsStandard) {
  EXPECT_EQ(why_standard(lstm(128, at::kFloat)), "");
  expect_golden(why_standard(lstm(512, at::kFloat)));
  expect_golden(why_standard(lstm(64, at::kDouble)));
  CudnnCall call = lstm(64, at::kFloat);
  call.sequences = CudnnSequences::kPacked;
  expect_golden(why_standard(call));
}

}  // namespace

}  // namespace rnnlab
