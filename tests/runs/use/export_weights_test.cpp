// SPDX-License-Identifier: Apache-2.0
#include "runs/use/export_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "base/expect_error.h"
#include "golden.h"
#include "results/run_record.h"
#include "runs/run_context.h"
#include "runs/use/predict.h"
#include "runs/use/trained_runs.h"
#include "train/models/model.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

using testing::expect_error;
using testing::read_text;
using testing::TrainedRuns;
using ::testing::UnorderedElementsAre;

class ExportWeights : public TrainedRuns {
 protected:
  Exported export_to(const std::string& file, const TrainedModel& trained, ExportPart part) const {
    return export_weights(trained, {.part = part}, name(file));
  }
};

std::vector<std::string> names_in(const std::string& file) {
  std::vector<std::string> names;
  for (const TensorView& tensor : read_safetensors(file).tensors) names.push_back(tensor.spec.name);
  return names;
}

TEST_F(ExportWeights, WritesTheModelOrTheRecurrentLayerAlone) {
  const TrainedModel trained = load(train_flowers());
  const Exported whole = export_to("whole.safetensors", trained, ExportPart::kModel);
  EXPECT_EQ(whole.num_tensors, 6);
  EXPECT_EQ(whole.num_parameters, num_parameters(*trained.model));
  const Exported recurrent = export_to("lstm.safetensors", trained, ExportPart::kRecurrent);
  EXPECT_EQ(recurrent.module, "torch.nn.LSTM(1, 6)");
  EXPECT_THAT(names_in(name("lstm.safetensors")),
              UnorderedElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"));
}

TEST_F(ExportWeights, WritesAnImageClassifierAsItIs) {
  const auto run = train(
      "data: {source: digits, num_train: 20, num_valid: 0}\nmodel: {kind: image_classifier, dense: [8]}\n"
      "training: {epochs: 1, batch_size: 20}\n");
  const TrainedModel trained = load(run);
  const std::string file = name("images.safetensors");
  EXPECT_EQ(export_weights(trained, {.part = ExportPart::kModel, .layout = Layout::kPyTorch}, file).num_tensors, 8);
  EXPECT_THAT(names_in(file), ::testing::IsSupersetOf({"convolution1.weight", "dense0.bias", "output.weight"}));
  const auto again = make_model(trained.experiment, trained.data.shape);
  load_initial_weights(*again, file);
  EXPECT_EQ(weights_sha256(*again), weights_sha256(*trained.model));
  expect_error(ExitCode::kUsage,
               [&] { export_weights(trained, {.part = ExportPart::kRecurrent, .layout = Layout::kPyTorch}, file); });
  expect_error(ExitCode::kUsage,
               [&] { export_weights(trained, {.part = ExportPart::kModel, .layout = Layout::kKeras}, file); });
}

TEST_F(ExportWeights, SaysWhatTheModuleInPyTorchIs) {
  const auto module_of = [&](const std::vector<std::string>& overrides) {
    return export_to("a.safetensors", load(train_flowers(overrides)), ExportPart::kRecurrent).module;
  };
  expect_golden(module_of({"model.cell=gru", "model.num_layers=2", "training.epochs=1"}));
  expect_golden(module_of({"model.cell=rnn_relu", "model.bidirectional=true", "training.epochs=1"}));
}

TEST_F(ExportWeights, WarnsWherePyTorchComputesSomethingElse) {
  const TrainedModel trained = load(train_flowers({"model.cell=gru", "model.reset_gate=before", "training.epochs=1"}));
  expect_golden(export_to("a.safetensors", trained, ExportPart::kRecurrent).notes);
}

// ---- and back: model.initial_weights

TEST_F(ExportWeights, StartsTrainingFromTheWholeModel) {
  const auto run = train_flowers();
  const TrainedModel first = load_trained_model({.run = run, .checkpoint = "last"});
  export_to("whole.safetensors", first, ExportPart::kModel);
  const auto second = train_flowers({"model.initial_weights=" + name("whole.safetensors"), "training.epochs=1"});
  EXPECT_EQ(load_run(second).summary.identity.initial_weights_sha256, weights_sha256(*first.model));
}

// rnnlab's own names are for every cell; the layouts of libraries have the cells of libraries.
TEST_F(ExportWeights, OfACellThatLibrariesDoNotHaveAreForRnnlabAlone) {
  const TrainedModel first = load(train_flowers({"model.cell=slstm", "model.heads=2"}));
  const Exported exported = export_to("whole.safetensors", first, ExportPart::kModel);
  expect_golden(exported.module);
  const auto second = train_flowers(
      {"model.cell=slstm", "model.heads=2", "model.initial_weights=" + name("whole.safetensors"), "training.epochs=1"});
  EXPECT_EQ(load_run(second).summary.identity.initial_weights_sha256, weights_sha256(*first.model));
  expect_error(ExitCode::kUsage, [&] {
    export_weights(first, {.part = ExportPart::kModel, .layout = Layout::kKeras}, name("keras.safetensors"));
  });
  expect_error(ExitCode::kCheckpoint, [&] {
    convert_weights(name("whole.safetensors"), std::nullopt, {.part = ExportPart::kModel, .layout = Layout::kKeras},
                    name("keras.safetensors"));
  });
}

TEST_F(ExportWeights, OfPartsThatLibrariesDoNotHaveAreForRnnlabAlone) {
  const TrainedModel first = load(train_flowers({"model.front=[4]", "model.pooling=attention"}));
  export_to("whole.safetensors", first, ExportPart::kModel);
  expect_error(ExitCode::kUsage, [&] {
    export_weights(first, {.part = ExportPart::kModel, .layout = Layout::kKeras}, name("keras.safetensors"));
  });
  expect_error(ExitCode::kUsage, [&] {
    convert_weights(name("whole.safetensors"), std::nullopt, {.layout = Layout::kKeras}, name("keras.safetensors"));
  });
  export_weights(first, {.part = ExportPart::kRecurrent, .layout = Layout::kKeras}, name("keras.safetensors"));
  convert_weights(name("whole.safetensors"), std::nullopt, {.part = ExportPart::kRecurrent, .layout = Layout::kKeras},
                  name("keras.safetensors"));
  const auto second = train_flowers({"model.front=[4]", "model.pooling=attention",
                                     "model.initial_weights=" + name("whole.safetensors"), "training.epochs=1"});
  EXPECT_EQ(load_run(second).summary.identity.initial_weights_sha256, weights_sha256(*first.model));
}

TEST_F(ExportWeights, StartsTrainingFromTheRecurrentLayerAlone) {
  const TrainedModel first = load(train_flowers());
  export_to("lstm.safetensors", first, ExportPart::kRecurrent);
  auto model = make_model(first.experiment.model, LayerKind::kNaive, first.data.shape);
  const at::Tensor output_before = model->named_parameters()["output.weight"].clone();
  load_initial_weights(*model, name("lstm.safetensors"));
  EXPECT_TRUE(model->named_parameters()["output.weight"].equal(output_before));
  EXPECT_TRUE(model->named_parameters()["recurrent.weight_hh_l0"].equal(
      first.model->named_parameters()["recurrent.weight_hh_l0"]));
}

TEST_F(ExportWeights, FindsTheFileBesideTheExperiment) {
  export_to("whole.safetensors", load(train_flowers()), ExportPart::kModel);
  EXPECT_NO_THROW(train_flowers({"model.initial_weights=whole.safetensors", "training.epochs=1"}));
}

TEST_F(ExportWeights, IsRefusedByAnotherModelWithTheTensorsNamed) {
  export_to("whole.safetensors", load(train_flowers()), ExportPart::kModel);
  expect_error(ExitCode::kCheckpoint, [&] {
    train_flowers({"model.initial_weights=whole.safetensors", "model.hidden_size=7"});
  });
  expect_error(ExitCode::kCheckpoint, [&] {
    train_flowers({"model.initial_weights=whole.safetensors", "model.num_layers=2"});
  });
  expect_error(ExitCode::kCheckpoint, [&] { train_flowers({"model.initial_weights=none.safetensors"}); });
}

// ---- other layouts

TEST_F(ExportWeights, WritesKerassAndTensorFlowsLayouts) {
  const TrainedModel trained = load(train_flowers());
  const Exported keras = export_weights(trained, {.layout = Layout::kKeras}, name("keras.safetensors"));
  EXPECT_EQ(keras.module, "keras.layers.LSTM(6)");
  EXPECT_EQ(keras.num_tensors, 5);
  EXPECT_EQ(keras.num_parameters, num_parameters(*trained.model) - 24) << "one bias instead of two";
  expect_golden(names_in(name("keras.safetensors")));
  const ExportFormat format = {.part = ExportPart::kRecurrent, .layout = Layout::kTensorFlow};
  expect_golden(export_weights(trained, format, name("tf.safetensors")).module);
  expect_golden(names_in(name("tf.safetensors")));
}

TEST_F(ExportWeights, ConvertsAFileFromOneLayoutToAnother) {
  const TrainedModel trained = load(train_flowers({"model.cell=gru", "training.epochs=1"}));
  export_to("ours.safetensors", trained, ExportPart::kModel);
  const auto convert = [&](const std::string& from, const ExportFormat& format, const std::string& to) {
    return convert_weights(name(from), std::nullopt, format, name(to)).module;
  };
  EXPECT_EQ(convert("ours.safetensors", {.layout = Layout::kKeras}, "keras.safetensors"), "keras.layers.GRU(6)");
  EXPECT_EQ(convert("keras.safetensors", {}, "back.safetensors"), "torch.nn.GRU(1, 6)");
  EXPECT_EQ(read_text(name("back.safetensors")), read_text(name("ours.safetensors"))) << "Keras's GRU has both biases";
  convert("keras.safetensors", {.part = ExportPart::kRecurrent}, "gru.safetensors");
  EXPECT_THAT(names_in(name("gru.safetensors")),
              UnorderedElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"));
}

TEST_F(ExportWeights, RefusesAFileOfAnotherLayoutThanSaidAndOfNone) {
  export_to("ours.safetensors", load(train_flowers({"training.epochs=1"})), ExportPart::kModel);
  expect_error(ExitCode::kCheckpoint,
               [&] { convert_weights(name("ours.safetensors"), Layout::kKeras, {}, name("out.safetensors")); });
  const NamedTensor other{"fc.weight", at::zeros({2, 2})};
  write_safetensors(name("other.safetensors"), SafetensorsImage({view_of(other)}));
  expect_error(ExitCode::kCheckpoint,
               [&] { convert_weights(name("other.safetensors"), std::nullopt, {}, name("out.safetensors")); });
}

TEST_F(ExportWeights, RefusesATableOfTwoUsesWhereTheLayoutHasNone) {
  const TrainedModel trained = load(train_text({"model.tied=true", "training.epochs=1"}));
  expect_error(ExitCode::kUsage, [&] { export_weights(trained, {.layout = Layout::kKeras}, name("out.safetensors")); });
  export_weights(trained, {}, name("tied.safetensors"));
  expect_error(ExitCode::kUsage, [&] {
    convert_weights(name("tied.safetensors"), std::nullopt, {.layout = Layout::kKeras}, name("out.safetensors"));
  });
  const ExportFormat recurrent = {.part = ExportPart::kRecurrent, .layout = Layout::kKeras};
  EXPECT_EQ(export_weights(trained, recurrent, name("lstm.safetensors")).num_tensors, 3);
}

TEST_F(ExportWeights, StartsTrainingFromKerassLayout) {
  const TrainedModel first = load(train_flowers({"model.cell=gru", "training.epochs=1"}));
  export_weights(first, {.layout = Layout::kKeras}, name("keras.safetensors"));
  const auto train_from = [&](const std::vector<std::string>& overrides) {
    return train_flowers(testing::with({"model.initial_weights=keras.safetensors", "training.epochs=1"}, overrides));
  };
  EXPECT_EQ(load_run(train_from({"model.cell=gru"})).summary.identity.initial_weights_sha256,
            weights_sha256(*first.model));
  expect_error(ExitCode::kCheckpoint, [&] { train_from({}); });
  expect_error(ExitCode::kCheckpoint, [&] { train_from({"model.cell=gru", "model.hidden_size=7"}); });
}

// ---- categories

class ExportCategories : public ExportWeights {
 protected:
  // Trains on words, each with a tag; the values of the words are the categories.
  std::filesystem::path train_words(const std::vector<std::string>& words,
                                    const std::vector<std::string>& overrides = {}) {
    std::string text = "sentence,word,tag\n";
    for (int i = 0; i < 24; ++i)
      text += fmt::format("{},{},{}\n", i / 2, words[static_cast<size_t>(i) % words.size()], i % 2 == 0 ? "N" : "V");
    write("words.csv", text);
    return train(
        "layer: naive\ndata: {source: csv, path: words.csv, target_per: step, group: sentence, target: [tag], "
        "categories: [word], num_valid: 2}\nmodel: {hidden_size: 4}\ntraining: {epochs: 1}\n",
        overrides);
  }

  void expect_start_refused(const std::vector<std::string>& words, const std::string& file) {
    expect_error(ExitCode::kCheckpoint, [&] { train_words(words, {"model.initial_weights=" + file}); });
  }
};

const std::vector<std::string> kWords = {"blue", "red", "sky"};

TEST_F(ExportCategories, AreWrittenWithZerosForTheUnknownValue) {
  const TrainedModel trained = load(train_words(kWords));
  export_to("words.safetensors", trained, ExportPart::kModel);
  const TensorFile file = read_safetensors(name("words.safetensors"));
  const at::Tensor vectors = to_tensor(*file.find("category0.weight")).tensor;
  EXPECT_TRUE(vectors[0].equal(at::zeros({2})));
  EXPECT_TRUE(vectors.narrow(0, 1, 3).equal(trained.model->named_parameters()["category0.weight"].narrow(0, 1, 3)));
  EXPECT_EQ(file.metadata.at("rnnlab.categories"), R"([{"name":"word","values":["blue","red","sky"]}])");
}

TEST_F(ExportCategories, HaveNoPlaceInTheLayoutsOfKerasAndTensorFlow) {
  const TrainedModel trained = load(train_words(kWords));
  export_to("words.safetensors", trained, ExportPart::kModel);
  for (const Layout layout : {Layout::kKeras, Layout::kTensorFlow}) {
    expect_error(ExitCode::kUsage, [&] { export_weights(trained, {.layout = layout}, name("a.safetensors")); });
    expect_error(ExitCode::kUsage, [&] {
      convert_weights(name("words.safetensors"), std::nullopt, {.layout = layout}, name("a.safetensors"));
    });
  }
  const ExportFormat recurrent = {.part = ExportPart::kRecurrent, .layout = Layout::kKeras};
  EXPECT_EQ(export_weights(trained, recurrent, name("a.safetensors")).num_tensors, 3);
  convert_weights(name("words.safetensors"), std::nullopt, recurrent, name("b.safetensors"));
  EXPECT_EQ(read_text(name("b.safetensors")), read_text(name("a.safetensors")));
}

TEST_F(ExportCategories, StayInAFileThatIsConvertedToItsOwnLayout) {
  export_to("words.safetensors", load(train_words(kWords)), ExportPart::kModel);
  convert_weights(name("words.safetensors"), std::nullopt, {}, name("again.safetensors"));
  EXPECT_EQ(read_text(name("again.safetensors")), read_text(name("words.safetensors")));
}

TEST_F(ExportCategories, StartTrainingOnTheSameValuesOnly) {
  export_to("words.safetensors", load(train_words(kWords)), ExportPart::kModel);
  EXPECT_NO_THROW(train_words({"sky", "red", "blue"}, {"model.initial_weights=words.safetensors"}));
  const std::string file = name("words.safetensors");
  expect_start_refused({"blue", "green", "sky"}, file);
  expect_start_refused({"blue", "sky"}, file);
  expect_error(ExitCode::kCheckpoint, [&] {
    train_words(kWords, {"model.initial_weights=" + file, "data.categories=[tag]", "data.target=[word]"});
  });
}

TEST_F(ExportCategories, OfACheckpointAreCheckedToo) {
  const auto run = train_words(kWords);
  const std::string file = (load(run).checkpoint / "model.safetensors").string();
  EXPECT_NO_THROW(train_words(kWords, {"model.initial_weights=" + file}));
  expect_start_refused({"blue", "green", "sky"}, file);
}

TEST_F(ExportCategories, LeaveRecurrentLayersForOtherValues) {
  export_to("lstm.safetensors", load(train_words(kWords)), ExportPart::kRecurrent);
  EXPECT_FALSE(read_safetensors(name("lstm.safetensors")).metadata.contains("rnnlab.categories"));
  EXPECT_NO_THROW(train_words({"blue", "green", "sky"}, {"model.initial_weights=lstm.safetensors"}));
}

TEST_F(ExportCategories, AreRefusedIfTheirMetadataAreDamaged) {
  export_to("words.safetensors", load(train_words(kWords)), ExportPart::kModel);
  const TensorFile file = read_safetensors(name("words.safetensors"));
  write_safetensors(name("bad.safetensors"), SafetensorsImage(file.tensors, {{"rnnlab.categories", "[{}]"}}));
  expect_start_refused(kWords, name("bad.safetensors"));
}

// ---- Python

at::Tensor outputs_of(Model& model, const Samples& samples) {
  const at::NoGradGuard no_grad;
  Batch batch;
  batch.inputs = samples.inputs.transpose(0, 1).contiguous();
  batch.size = samples.size();
  model.eval();
  return model.forward(batch);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

// RNNLAB_PYTHON names an interpreter with the packages `torch` and `safetensors`, if "python3" has none.
TEST_F(ExportWeights, IsComputedAlikeByPyTorch) {
  const char* named = std::getenv("RNNLAB_PYTHON");
  const std::string python = named == nullptr ? "python3" : named;
  if (std::system((python + " -c 'import torch, safetensors.torch' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << python << " has no package torch or safetensors: RNNLAB_PYTHON=... names one that has";
  const std::string script = RNNLAB_SOURCE_DIR "/tests/runs/use/compare_with_pytorch.py";
  for (const char* cell : {"lstm", "gru", "rnn_tanh"}) {
    const TrainedModel trained =
        load(train_series({std::string("model.cell=") + cell, "model.num_layers=2", "model.bidirectional=true"}));
    export_to("recurrent.safetensors", trained, ExportPart::kRecurrent);
    export_to("model.safetensors", trained, ExportPart::kModel);
    const Samples samples = load_data(trained, Targets::kRequired).samples;
    const NamedTensor inputs{"inputs", samples.inputs}, outputs{"outputs", predict(trained, samples).raw};
    write_safetensors(name("data.safetensors"), SafetensorsImage({view_of(inputs), view_of(outputs)}));
    EXPECT_EQ(std::system((python + " " + script + " " + folder_.path().string() + " " + cell).c_str()), 0) << cell;
    // The other direction is a model that PyTorch drew, with its outputs for the same inputs.
    const auto model = make_model(trained.experiment.model, LayerKind::kFused, trained.data.shape);
    load_initial_weights(*model, name("from_pytorch.safetensors"));
    const TensorFile drawn = read_safetensors(name("outputs_of_pytorch.safetensors"));
    EXPECT_LT(largest_difference(outputs_of(*model, samples), to_tensor(*drawn.find("outputs")).tensor), 3e-6) << cell;
  }
}

}  // namespace
}  // namespace rnnlab
