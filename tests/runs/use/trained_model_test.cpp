// SPDX-License-Identifier: Apache-2.0
#include "runs/use/trained_model.h"

#include <gmock/gmock.h>

#include "base/expect_error.h"
#include "golden.h"
#include "layers/refusals.h"
#include "results/checkpoint/checkpoint.h"
#include "results/run_folder.h"
#include "runs/use/export_weights.h"
#include "runs/use/predict.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TrainedRuns;

using FindCheckpoint = TrainedRuns;

std::filesystem::path found(const std::filesystem::path& run, const std::string& checkpoint) {
  std::vector<std::string> notes;
  return find_checkpoint({.run = run, .checkpoint = checkpoint}, notes);
}

TEST_F(FindCheckpoint, TakesOneByItsNameOrItself) {
  const auto run = train_flowers();
  const auto last = run / "checkpoints" / "step-000020";
  EXPECT_EQ(found(run, "last"), last);
  EXPECT_EQ(found(run, "step-000020"), last);
  EXPECT_EQ(found(last, ""), last);
}

TEST_F(FindCheckpoint, RefusesWhatIsNotThere) {
  const auto run = train_flowers({"checkpoint.best=false", "checkpoint.every_epochs=0"});
  const auto expect_refused = [](ExitCode exit_code, const std::filesystem::path& place,
                                 const std::string& checkpoint) {
    expect_error(exit_code, [&] { found(place, checkpoint); });
  };
  expect_refused(ExitCode::kUsage, run, "step-000007");
  expect_refused(ExitCode::kCheckpoint, run, "best");
  expect_refused(ExitCode::kUsage, run / "checkpoints/step-000020", "last");
  expect_refused(ExitCode::kUsage, name("none"), "");
  expect_refused(ExitCode::kUsage, run.parent_path(), "");
  expect_refused(ExitCode::kUsage, run / "checkpoints", "");
}

TEST_F(FindCheckpoint, PassesOverADamagedOneWithANote) {
  const auto run = train_flowers({"checkpoint.best=false", "checkpoint.every_seconds=0"});
  testing::write_text(run / "checkpoints/step-000020/state.json", "{}");
  std::vector<std::string> notes;
  EXPECT_EQ(find_checkpoint({.run = run, .checkpoint = ""}, notes), run / "checkpoints/step-000015");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("step-000020")));
}

using LoadTrainedModel = TrainedRuns;

TEST_F(LoadTrainedModel, RefusesADamagedCheckpoint) {
  const auto checkpoint = train_flowers() / "checkpoints/step-000020";
  std::string bytes = testing::read_text(checkpoint / "model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  testing::write_text(checkpoint / "model.safetensors", bytes);
  EXPECT_THAT(testing::message_of_error(ExitCode::kCheckpoint, [&] { load(checkpoint); }),
              HasSubstr((checkpoint / "model.safetensors").string()));
}

TEST_F(LoadTrainedModel, NeedsNeitherDataNorTheRunFolder) {
  const auto run = train_flowers();
  std::filesystem::rename(run / "checkpoints/step-000020", name("model"));
  std::filesystem::remove_all(run);
  std::filesystem::remove(name("flowers.csv"));
  EXPECT_THAT(load(name("model")).data.vocabulary, ElementsAre("iris", "rose, red"));
}

TEST_F(LoadTrainedModel, HoldsDataAgainstTheMemoryOnlyWhenTheyAreLoaded) {
  const auto run = train_text();
  std::filesystem::resize_file(name("text.txt"), uintmax_t{8} << 40);
  const TrainedModel trained = load(run);
  EXPECT_THAT(trained.notes, IsEmpty());
  EXPECT_GT(export_weights(trained, {}, name("weights.safetensors")).num_tensors, 0);
  EXPECT_THAT(testing::message_of_error(ExitCode::kDevice, [&] { load_data(trained, Targets::kRequired); }),
              StartsWith("data.path: this run (data 8.00 TiB, "));
}

TEST_F(LoadTrainedModel, RefusesToChangeWhatWasTrained) {
  const auto run = train_flowers();
  expect_error(ExitCode::kUsage, [&] { load(run, {"model.hidden_size=8"}); });
  expect_error(ExitCode::kUsage, [&] { load(run, {"layer=auto"}); });
  expect_error(ExitCode::kUsage, [&] { load(run, {"data.source=npy"}); });
}

TEST_F(LoadTrainedModel, SaysWhatItTakesInsteadOfALayerThatIsNotForTheDevice) {
  const auto run = train_flowers({"layer=blocked"});
  EXPECT_EQ(load(run).experiment.layer, LayerKind::kBlocked);
  EXPECT_EQ(load(run, {"layer=fused"}).experiment.layer, LayerKind::kFused);
}

// ---- any layer: the bounds of tests/layers/layer_under_test.h, through dense layers and a softmax that do not
// widen them.
constexpr double kSameToRounding = 3e-6;

// Returns the layers that this machine's CPU and the model's options allow.
std::vector<std::string> layers_for(const RecurrentOptions& options) {
  std::vector<std::string> names;
  for (const LayerKind kind : layer_kinds())
    if (!refusal_of(kind, Processor::kCpu) && !refusal_of(kind, options)) names.emplace_back(config::name_of(kind));
  return names;
}

struct Used {
  std::string cell;
  std::string trained_with;
};

class AnyLayer : public TrainedRuns, public ::testing::WithParamInterface<Used> {};

TEST_P(AnyLayer, PredictsTheSameWithEveryOther) {
  const Used& used = GetParam();
  for (const auto& run :
       {train_flowers({"model.cell=" + used.cell, "layer=" + used.trained_with, "model.num_layers=2"}),
        train_series({"model.cell=" + used.cell, "layer=" + used.trained_with, "model.bidirectional=true"})}) {
    const TrainedModel own = load(run);
    const Samples samples = load_data(own, Targets::kIfPresent).samples;
    const at::Tensor expected = predict(own, samples).raw;
    const Model& model = *own.model;
    for (const std::string& layer : layers_for(model.recurrent().options())) {
      const at::Tensor got = predict(load(run, {"layer=" + layer}), samples).raw;
      const double largest = std::max(1.0, expected.abs().max().item<double>());
      EXPECT_LT((got - expected).abs().max().item<double>() / largest, kSameToRounding) << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, AnyLayer,
                         ::testing::Values(Used{"lstm", "fused"}, Used{"gru", "naive"}, Used{"rnn_tanh", "hoisted"}),
                         [](const auto& used) { return used.param.cell; });

// The tensors of the file must refuse a model of 128 TiB before it is allocated.
TEST_F(LoadTrainedModel, RefusesForgedSettingsOfALargerModel) {
  const auto run = train_flowers();
  const Checkpoint saved = load_checkpoint(run / "checkpoints/step-000020");
  auto state = saved.state;
  std::string settings = state["experiment"];
  settings.replace(settings.find("hidden_size: 6 "), 15, "hidden_size: 65536 ");
  settings.replace(settings.find("num_layers: 1 "), 14, "num_layers: 1024 ");
  state["experiment"] = settings;
  const auto forged = save_checkpoint(folder_.path() / "forged", saved.step,
                                      {saved.model.tensors, saved.optimizer.tensors, state, nullptr});
  expect_error(ExitCode::kCheckpoint, [&] { load(forged); });
}

// The run was saved by a machine with a hundred GPUs.
Experiment trained_on_a_gpu(LayerKind layer) {
  Experiment experiment;
  experiment.device = "cuda:99";
  experiment.layer = layer;
  return experiment;
}

TEST(InferenceSettings, AreThoseOfTrainingWhereTheMachineCanDoThem) {
  Experiment trained;
  trained.device = "cpu";
  trained.layer = LayerKind::kBlocked;
  const InferenceSettings use = inference_settings(trained, {});
  EXPECT_EQ(use.experiment.layer, LayerKind::kBlocked);
  EXPECT_THAT(use.notes, IsEmpty());
}

TEST(InferenceSettings, TakeTheCpuAndAnotherLayerWhereTheDeviceIsNotThere) {
  const InferenceSettings use = inference_settings(trained_on_a_gpu(LayerKind::kCudnn), {});
  EXPECT_EQ(use.experiment.device, "cpu");
  EXPECT_EQ(use.experiment.layer, LayerKind::kFused);
  expect_golden(use.notes);
}

TEST(InferenceSettings, TakeALayerThatCanComputeTheModel) {
  Experiment trained = trained_on_a_gpu(LayerKind::kWavefront);
  trained.model.activation = Activation::kRelu;
  const InferenceSettings use = inference_settings(trained, {});
  EXPECT_EQ(use.experiment.layer, LayerKind::kHoisted) << "fused has tanh only";
  expect_golden(use.notes.back());
}

TEST(InferenceSettings, SayNothingOfWhatIsOverridden) {
  const InferenceSettings use = inference_settings(trained_on_a_gpu(LayerKind::kCudnn), {"device=cpu", "layer=naive"});
  EXPECT_EQ(use.experiment.layer, LayerKind::kNaive);
  EXPECT_THAT(use.notes, IsEmpty());
}

TEST(InferenceSettings, TakeAnAlgorithmOfCudnnWithItsLayerOnly) {
  Experiment trained = trained_on_a_gpu(LayerKind::kCudnn);
  trained.cudnn_algorithm = CudnnAlgorithm::kStandard;
  EXPECT_EQ(inference_settings(trained, {}).experiment.cudnn_algorithm, CudnnAlgorithm::kAuto);
}

}  // namespace
}  // namespace rnnlab
