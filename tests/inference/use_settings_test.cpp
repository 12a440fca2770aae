#include "inference/use_settings.h"

#include <gmock/gmock.h>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// As a machine with a hundred GPUs left it.
Experiment trained_on_a_gpu(LayerKind layer) {
  Experiment experiment;
  experiment.device = "cuda:99";
  experiment.layer = layer;
  return experiment;
}

TEST(UseSettings, AreThoseOfTrainingWhereTheMachineCanDoThem) {
  Experiment trained;
  trained.device = "cpu";
  trained.layer = LayerKind::kBlocked;
  const UseSettings use = use_settings(trained, {});
  EXPECT_EQ(use.experiment.layer, LayerKind::kBlocked);
  EXPECT_THAT(use.notes, IsEmpty());
}

TEST(UseSettings, TakeTheCpuAndAnotherLayerWhereTheDeviceIsNotThere) {
  const UseSettings use = use_settings(trained_on_a_gpu(LayerKind::kCudnn), {});
  EXPECT_EQ(use.experiment.device, "cpu");
  EXPECT_EQ(use.experiment.layer, LayerKind::kFused);
  EXPECT_THAT(use.notes, ElementsAre("trained on cuda:99, which this machine has not: runs on the CPU",
                                     "trained with layer cudnn, which is not for this device: runs with layer fused"));
}

TEST(UseSettings, TakeALayerThatCanComputeTheModel) {
  Experiment trained = trained_on_a_gpu(LayerKind::kWavefront);
  trained.model.activation = Activation::kRelu;
  const UseSettings use = use_settings(trained, {});
  EXPECT_EQ(use.experiment.layer, LayerKind::kHoisted) << "fused has tanh only";
  EXPECT_EQ(use.notes.back(), "trained with layer wavefront, which is not for this device: runs with layer hoisted");
}

TEST(UseSettings, SayNothingOfWhatIsOverridden) {
  const UseSettings use = use_settings(trained_on_a_gpu(LayerKind::kCudnn), {"device=cpu", "layer=naive"});
  EXPECT_EQ(use.experiment.layer, LayerKind::kNaive);
  EXPECT_THAT(use.notes, IsEmpty());
}

TEST(UseSettings, TakeAnAlgorithmOfCudnnWithItsLayerOnly) {
  Experiment trained = trained_on_a_gpu(LayerKind::kCudnn);
  trained.cudnn_algorithm = CudnnAlgorithm::kStandard;
  EXPECT_EQ(use_settings(trained, {}).experiment.cudnn_algorithm, CudnnAlgorithm::kAuto);
}

}  // namespace
}  // namespace rnnlab
