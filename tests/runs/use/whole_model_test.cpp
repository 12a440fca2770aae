// SPDX-License-Identifier: Apache-2.0
// A run, and the one file that `convert --whole` writes of it, are the same model.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "base/expect_error.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "golden.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/model_file.h"
#include "runs/report/model_card.h"
#include "runs/use/evaluate_model.h"
#include "runs/use/export_weights.h"
#include "runs/use/generate_text.h"
#include "runs/use/predict.h"
#include "runs/use/prediction_files.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TrainedRuns;

class WholeModel : public TrainedRuns {
 protected:
  // Writes the file, and removes the run and its data, of which nothing is needed any more.
  std::string whole(const fs::path& run, const std::vector<std::string>& data_to_remove = {}) {
    export_whole(saved_model(load(run)), name("model.safetensors"));
    fs::rename(run, name("kept_run"));
    for (const std::string& file : data_to_remove) fs::remove(name(file));
    return name("model.safetensors");
  }

  std::string predicted(const fs::path& model, const std::vector<std::string>& overrides) const {
    const TrainedModel trained = load(model, overrides);
    const InferenceData data = load_data(trained, Targets::kIfPresent);
    return prediction_csv(predict(trained, data.samples), data.rows, long_form(trained));
  }

  // All digits of predictions are the same.
  void expect_same_predictions(const std::vector<std::string>& overrides) const {
    const std::string of_run = predicted(name("kept_run"), overrides);
    EXPECT_THAT(of_run, Not(IsEmpty()));
    EXPECT_EQ(predicted(name("model.safetensors"), overrides), of_run);
  }

  // Dates of both orders are possible up to the twelfth of a month, so the file shows its order.
  void write_days(const std::string& file, int first, int last) const {
    std::string text = "day,shop,price,sales\n";
    for (const char* shop : {"north", "south"})
      for (int day = first; day <= last; ++day) {
        using namespace std::chrono;
        const year_month_day date = sys_days(2026y / January / 1d) + days(day);
        text += fmt::format("{:02}/{:02}/2026,{},{},{}\n", unsigned(date.month()), unsigned(date.day()), shop, day % 5,
                            (*shop == 'n' ? 100 : 7) + day % 7);
      }
    write(file, text);
  }

  fs::path train_days(const std::vector<std::string>& overrides = {}) {
    write_days("days.csv", 0, 90);
    return train(
        "data: {source: csv, path: days.csv, features: [price, sales], target: [sales], time: day, group: shop, "
        "categories: [shop], calendar: [weekday], scale_by: series, target_as: change, window: 5, horizon: 1..3}\n"
        "model: {kind: sequence_regressor, hidden_size: 5}\ntraining: {epochs: 2, batch_size: 16}\n",
        overrides);
  }

  // Writes the model again with another entry, which is sealed.
  std::string forged(const std::function<void(Json&)>& change) const {
    const TensorFile file = read_safetensors(name("model.safetensors"));
    Json entry = unsealed(file.metadata.at(kModelKey), "entry");
    change(entry);
    TensorMetadata metadata = file.metadata;
    metadata[kModelKey] = sealed_text(entry);
    write_safetensors(name("forged.safetensors"), SafetensorsImage(file.tensors, metadata));
    return name("forged.safetensors");
  }

  std::string refusal(const std::string& file) const {
    return testing::message_of_error(ExitCode::kCheckpoint, [&] { load(file); });
  }
};

TEST_F(WholeModel, ForecastsFromDatesCategoriesAndScalesOfSeries) {
  whole(train_days(), {"days.csv"});
  write_days("new.csv", 91, 120);
  expect_same_predictions({"data.path=new.csv"});
}

// After the end of the file, too, whose dates follow by the step.
TEST_F(WholeModel, ForecastsByTheCalendarOfForecastRows) {
  whole(train_days({"model.decoder=true"}), {"days.csv"});
  EXPECT_EQ(load(name("model.safetensors")).data.shape.calendar_ahead.num_phases, 2);
  write_days("new.csv", 91, 120);
  expect_same_predictions({"data.path=new.csv"});
  EXPECT_THAT(predicted(name("model.safetensors"), {"data.path=new.csv"}), HasSubstr("05/04/2026"));
}

// Such a version recorded no data.calendar_ahead.
TEST_F(WholeModel, OfAVersionWithoutTheCalendarAheadReadsTheInputsOfItsTraining) {
  whole(train_days({"model.decoder=true", "data.calendar_ahead=false"}));
  const std::string before = forged([](Json& entry) {
    const std::string key = "calendar_ahead: false";
    auto text = entry["experiment"].get<std::string>();
    ASSERT_THAT(text, HasSubstr(key));
    entry["experiment"] = text.replace(text.find(key), key.size(), "#");
  });
  EXPECT_EQ(load(before).data.shape.calendar_ahead.num_phases, 0);
  EXPECT_EQ(predicted(before, {}), predicted(name("kept_run"), {}));
}

// A file of the same name as the training file is another one on another machine.
TEST_F(WholeModel, TakesDataThatAreNamedAsNew) {
  whole(train_days());
  write_days("days.csv", 91, 120);
  const std::string path = "data.path=" + name("days.csv");
  EXPECT_EQ(load_trained_model({.run = name("model.safetensors"), .checkpoint = "", .overrides = {path}}).part,
            DataPart::kAll);
  EXPECT_EQ(load_trained_model({.run = name("model.safetensors"), .checkpoint = ""}).part, DataPart::kValid);
}

TEST_F(WholeModel, ForecastsQuantiles) {
  whole(train_days({"training.loss=quantile", "training.quantiles=[0.2, 0.5, 0.7]"}));
  expect_same_predictions({});
  EXPECT_THAT(predicted(name("model.safetensors"), {}), HasSubstr("0.7"));
}

TEST_F(WholeModel, GoesOnWithTexts) {
  for (const char* tokens : {"characters", "bytes"}) {
    const auto run = train_text({std::string("data.tokens=") + tokens, "model.tied=true", "model.embedding_size=16"});
    const TextRequest request{.prompt = "ba. ", .length = 50, .temperature = 1, .seed = 3};
    const std::string expected = generate_text(load(run), request);
    whole(run, {"text.txt"});
    EXPECT_EQ(generate_text(load(name("model.safetensors")), request), expected);
    fs::remove_all(name("kept_run"));
  }
}

TEST_F(WholeModel, HasTheEquationsOfItsCell) {
  whole(
      train_flowers({"model.cell={name: leaky, gates: [n], states: [h], vectors: [p], equations: "
                     "\"h = tanh(n) + sigmoid(p) * h\"}"}));
  expect_same_predictions({});
  EXPECT_EQ(read_saved_model(name("model.safetensors")).experiment.model.own_cell.name, "leaky");
}

TEST_F(WholeModel, ClassifiesImages) {
  whole(
      train("data: {source: digits, num_train: 60, num_valid: 20}\nmodel: {kind: image_classifier, dense: [4]}\n"
            "training: {epochs: 1}\n"));
  expect_same_predictions({});
}

TEST_F(WholeModel, EvaluatesLikeItsRun) {
  whole(train_flowers());
  const auto metrics = [&](const std::string& model) {
    const TrainedModel trained = load(name(model));
    return evaluate_model(trained, load_data(trained, Targets::kRequired).samples).metrics;
  };
  EXPECT_EQ(metrics("model.safetensors"), metrics("kept_run"));
}

TEST_F(WholeModel, KeepsThePrecisionAndLayerOfTraining) {
  whole(train_flowers({"layer=hoisted", "seed=7"}));
  const TrainedModel trained = load(name("model.safetensors"));
  EXPECT_EQ(trained.experiment.layer, LayerKind::kHoisted);
  EXPECT_EQ(trained.experiment.seed, 7);
}

TEST_F(WholeModel, IsWrittenAgainBitForBit) {
  const std::string file = whole(train_flowers());
  export_whole(saved_model(load(file, {"device=cpu", "layer=naive"})), name("again.safetensors"));
  EXPECT_EQ(testing::read_text(name("again.safetensors")), testing::read_text(file));
}

TEST_F(WholeModel, SaysWhereItComesFrom) {
  const auto run = train_flowers();
  const std::string weights = testing::read_text(load(run).checkpoint / kModelFile);
  const SavedModel model = read_saved_model(whole(run));
  EXPECT_EQ(weights_sha256(model), Sha256().update(weights).hex()) << "that of the checkpoint";
  EXPECT_EQ(model.origin.epoch, 4);
  EXPECT_EQ(model.origin.step, 20);
  EXPECT_GT(model.origin.metrics.at("valid_accuracy"), 0);
  EXPECT_EQ(model.origin.baselines.at(0).name, "most frequent class");
  EXPECT_THAT(model.origin.software.libtorch, Not(IsEmpty()));
  EXPECT_THAT(model.origin.machine, IsEmpty());
}

// The file is given away.
TEST_F(WholeModel, HasNoFolders) {
  write_flowers("flowers.csv");
  const std::string bytes = testing::read_text(whole(train_flowers({"data.path=" + name("flowers.csv")})));
  EXPECT_EQ(bytes.find(folder_.path().string()), std::string::npos);
  EXPECT_THAT(read_saved_model(name("model.safetensors")).experiment.data.path, "flowers.csv");
  export_whole(saved_model(load(name("kept_run"))), name("named.safetensors"), {{"host", "box"}});
  EXPECT_EQ(read_saved_model(name("named.safetensors")).origin.machine.at("host"), "box");
}

TEST_F(WholeModel, StartsTraining) {
  const std::string file = whole(train_flowers());
  const auto second = train_flowers({"model.initial_weights=" + file, "training.learning_rate=1e-30"});
  EXPECT_EQ(weights_sha256(read_saved_model(load(second).checkpoint)), weights_sha256(read_saved_model(file)));
}

// Also the metadata that only model.initial_weights reads.
TEST_F(WholeModel, IsRefusedWithAnyByteChangedOrMissing) {
  const std::string file = whole(train_flowers());
  const std::string bytes = testing::read_text(file);
  constexpr size_t kPrime = 331;
  for (size_t i = 0; i < bytes.size(); i += i < 300 ? 1 : kPrime) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    testing::write_text(name("other.safetensors"), changed);
    refusal(name("other.safetensors"));
    testing::write_text(name("other.safetensors"), bytes.substr(0, i));
    refusal(name("other.safetensors"));
  }
  const TensorFile whole = read_safetensors(file);
  TensorMetadata metadata = whole.metadata;
  metadata["rnnlab.activation"] = "relu";
  write_safetensors(name("other.safetensors"), SafetensorsImage(whole.tensors, metadata));
  const auto train_from_it = [&] { train_flowers({"model.initial_weights=" + name("other.safetensors")}); };
  EXPECT_THAT(testing::message_of_error(ExitCode::kCheckpoint, train_from_it), HasSubstr("damaged"));
}

TEST_F(WholeModel, IsRefusedIfALaterVersionWroteIt) {
  whole(train_flowers());
  const auto later = [](Json& entry) { entry["origin"]["software"]["rnnlab"] = "9.9.9"; };
  const auto expect_advice = [&](const std::function<void(Json&)>& change, const char* reason) {
    const std::string message = refusal(forged([&](Json& entry) {
      later(entry);
      change(entry);
    }));
    EXPECT_THAT(message, HasSubstr(reason));
    EXPECT_THAT(message, HasSubstr("9.9.9"));
  };
  expect_advice([](Json& entry) { entry["schema_version"] = kFileVersion + 1; }, "schema_version");
  expect_advice([](Json& entry) { entry["decoder"] = true; }, "decoder");
  expect_advice([](Json& entry) { entry["experiment"] = "attention: true\n"; }, "attention");
}

TEST_F(WholeModel, IsRefusedIfItsEntryIsImpossible) {
  whole(train_flowers());
  const auto expect_refused = [&](const std::string& pointer, const Json& value) {
    refusal(forged([&](Json& entry) { entry[Json::json_pointer(pointer)] = value; }));
  };
  expect_refused("/shape/input_size", 0);
  expect_refused("/shape/num_outputs", 1'000'000'000);
  expect_refused("/vocabulary", {"one"});
  expect_refused("/feature_scales", Json::array());
  expect_refused("/weights_sha256", std::string(64, '0'));
  expect_refused("/origin/epoch", "four");
  refusal(forged([](Json& entry) {
    std::string text = entry["experiment"];
    const size_t place = text.find("hidden_size: 6");
    entry["experiment"] = text.replace(place, 14, "hidden_size: 1000000");
  }));
}

using CardOfModel = WholeModel;

TEST_F(CardOfModel, ReadsThePartsOfItsData) {
  const TrainedModel trained = load(train_days({"data.num_valid=10", "data.num_test=12"}));
  const report::CardParts found = report::read_parts(trained);
  EXPECT_THAT(found.notes, IsEmpty());
  ASSERT_EQ(found.parts.size(), 3u);
  EXPECT_EQ(found.parts[0].first_time, "01/06/2026") << "the first row after a window";
  EXPECT_EQ(found.parts[2].last_time, "04/01/2026");
  EXPECT_EQ(found.parts[2].num_samples, 24) << "of two series";
  EXPECT_FALSE(found.parts[1].quality);
  ASSERT_TRUE(found.parts[2].quality);
  EXPECT_THAT(found.parts[2].quality->model.at("valid_rmse"), ::testing::Gt(0));
  EXPECT_THAT(found.parts[2].quality->baselines, Not(IsEmpty()));
}

TEST_F(CardOfModel, DoesWithoutDataAndRun) {
  const TrainedModel trained = load(whole(train_flowers(), {"flowers.csv"}));
  const report::CardParts found = report::read_parts(trained);
  EXPECT_THAT(found.parts, IsEmpty());
  EXPECT_THAT(found.notes, ::testing::Each(HasSubstr("flowers.csv")));
  const std::string card = report::model_card(saved_model(trained), found.parts, "model.safetensors");
  EXPECT_THAT(card, HasSubstr("most frequent class")) << "the file has what the run knew";
}

TEST_F(WholeModel, IsNotAFileOfWeights) {
  export_weights(load(train_flowers()), {}, name("weights.safetensors"));
  EXPECT_THAT(refusal(name("weights.safetensors")), HasSubstr("--whole"));
  std::vector<std::string> notes;
  expect_error(ExitCode::kUsage,
               [&] { find_checkpoint({.run = name("weights.safetensors"), .checkpoint = "best"}, notes); });
}

}  // namespace
}  // namespace rnnlab
