#include "recurrent/cudnn_algorithm.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

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
  EXPECT_EQ(both(lstm(1152, at::kHalf)), kBothStandard);
  EXPECT_EQ(both(lstm(500, at::kHalf)), kBothStandard);
  CudnnCall call = lstm(512, at::kHalf);
  call.num_layers = 2;
  EXPECT_EQ(both(call), kBothStandard);
  call = lstm(512, at::kHalf);
  call.num_directions = 2;
  EXPECT_EQ(both(call), kBothStandard);
  call = lstm(512, at::kHalf);
  call.input_size = 28;
  EXPECT_EQ(both(call), kBothStandard);
  call = lstm(512, at::kHalf);
  call.batch_size = 60;
  EXPECT_EQ(both(call), kBothStandard);
  call.batch_size = 136;
  EXPECT_EQ(both(call), kBothStandard);
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
  EXPECT_EQ(why_standard(lstm(512, at::kFloat)),
            "LibTorch asks cuDNN for small-H up to hidden_size 192 (backward 128), and for persist static in float16 "
            "only, with one layer in one direction");
  EXPECT_EQ(why_standard(lstm(64, at::kDouble)), "LibTorch asks cuDNN for its standard algorithm in float64");
  CudnnCall call = lstm(64, at::kFloat);
  call.sequences = CudnnSequences::kPacked;
  EXPECT_EQ(why_standard(call),
            "LibTorch asks cuDNN for its standard algorithm when sequences have lengths of their own");
}

}  // namespace
}  // namespace rnnlab
