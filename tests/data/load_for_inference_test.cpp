#include "data/load_for_inference.h"

#include <cmath>

#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;

class LoadForInference : public DataTest {
 protected:
  DataSettings table(const std::string& file, const std::string& rest) const {
    return parse_settings("source: csv\npath: " + path(file) + "\n" + rest);
  }
  DataSettings arrays(const std::string& rest) const {
    return parse_settings("source: npy\npath: " + folder().string() + "\ntrain_inputs: x.npy\ntrain_targets: y.npy\n" +
                          rest);
  }
  void write_arrays(const std::vector<float>& inputs, const std::vector<int64_t>& classes) const {
    const std::string count = std::to_string(classes.size());
    write_npy("x.npy", "<f4", count + ", 2, 1", inputs);
    write_npy("y.npy", "<i8", count + ",", classes);
  }
};

const std::string kOrdered = "split: ordered\nnum_valid: 1\n";

TEST_F(LoadForInference, GivesThePartsOfTrainingAgain) {
  write("a.csv", "x,y\n1,0\n3,1\n5,0\n9,1\n2,0\n");
  const DataSettings settings = table("a.csv", "target: [y]\nseed: 3\nnum_valid: 2\n");
  const Dataset dataset = load_dataset(settings);
  const auto part = [&](DataPart which) {
    return load_for_inference(settings, dataset, which, Targets::kRequired).samples;
  };
  EXPECT_TRUE(part(DataPart::kTrain).inputs.equal(dataset.train.inputs));
  EXPECT_TRUE(part(DataPart::kValid).inputs.equal(dataset.valid.inputs));
  EXPECT_TRUE(part(DataPart::kValid).targets.equal(dataset.valid.targets));
  EXPECT_EQ(part(DataPart::kAll).size(), 5);
}

TEST_F(LoadForInference, SaysWherePredictionsAreOfAPartOfTheFile) {
  write("a.csv", "x,y\n1,0\n3,1\n5,0\n9,1\n2,0\n");
  const auto notes_on = [&](const std::string& more, DataPart part, Targets targets) {
    const DataSettings settings = table("a.csv", "target: [y]\nnum_valid: 2\n" + more);
    return load_for_inference(settings, load_dataset(settings), part, targets).notes;
  };
  EXPECT_THAT(
      notes_on("", DataPart::kValid, Targets::kWhereThere),
      ElementsAre("these are the validation samples alone, in the order of their random split; --part all takes "
                  "the whole file, in its order"));
  EXPECT_THAT(notes_on("", DataPart::kAll, Targets::kWhereThere), ElementsAre());
  EXPECT_THAT(notes_on("split: ordered\n", DataPart::kValid, Targets::kWhereThere),
              ElementsAre("these are the validation samples alone; --part all takes the whole file, in its order"));
  EXPECT_THAT(notes_on("", DataPart::kValid, Targets::kRequired), ElementsAre()) << "a mean is of a part on purpose";
}

TEST_F(LoadForInference, FitsNothingAnew) {
  write("a.csv", "x,y\n0,10\n2,30\n7,7\n");
  const Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [y]\ntask: regression\n"));
  write("b.csv", "x,y\n100,20\n");
  const Samples samples = load_for_inference(table("b.csv", kOrdered + "target: [y]\ntask: regression\n"), dataset,
                                             DataPart::kAll, Targets::kRequired)
                              .samples;
  EXPECT_THAT(values_of<float>(samples.inputs), ElementsAre(99)) << "mean 1, deviation 1";
  EXPECT_THAT(values_of<float>(samples.targets), ElementsAre(0));
}

TEST_F(LoadForInference, FillsMissingValuesByTheMeansOfTraining) {
  write("a.csv", "x,y\n0,1\n4,1\n7,0\n");
  const std::string settings = kOrdered + "target: [y]\nmissing: mean\nnormalize: none\n";
  const Dataset dataset = load_dataset(table("a.csv", settings));
  write("b.csv", "x,y\n,1\n100,0\n");
  const InferenceData data = load_for_inference(table("b.csv", settings), dataset, DataPart::kAll, Targets::kRequired);
  EXPECT_THAT(values_of<float>(data.samples.inputs), ElementsAre(2, 100));
  EXPECT_THAT(data.notes, ElementsAre("1 missing value, treated by missing: mean"));
  EXPECT_EQ(data.description, "csv from " + path("b.csv") + ": 2 samples");
}

TEST_F(LoadForInference, NamesAClassThatTrainingNeverSaw) {
  write("a.csv", "x,kind\n1,cat\n2,dog\n3,cat\n");
  const Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [kind]\n"));
  write("b.csv", "x,kind\n1,cat\n2,cow\n");
  EXPECT_EQ(error_of(ExitCode::kData,
                     [&] {
                       load_for_inference(table("b.csv", kOrdered + "target: [kind]\n"), dataset, DataPart::kAll,
                                          Targets::kRequired);
                     }),
            "{}/b.csv:3: column 'kind': got the class 'cow', which the training data does not have");
}

TEST_F(LoadForInference, TakesTheWindowsWhoseTargetIsStillToCome) {
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\n");
  const DataSettings settings = table("a.csv", "target: [y]\nwindow: 2\nhorizon: 2\nnormalize: none\nnum_valid: 0\n");
  const Dataset dataset = load_dataset(settings);
  const auto all = [&](Targets targets) {
    return load_for_inference(settings, dataset, DataPart::kAll, targets).samples;
  };
  EXPECT_EQ(all(Targets::kRequired).size(), 3);
  const Samples open = all(Targets::kWhereThere);
  ASSERT_EQ(open.size(), 5);
  EXPECT_THAT(values_of<float>(open.inputs[4]), ElementsAre(5, 6));
  EXPECT_EQ(open.targets[2].item<float>(), 6);
  EXPECT_TRUE(std::isnan(open.targets[3].item<float>()));
}

TEST_F(LoadForInference, ScalesArraysByWhatWasFitted) {
  write_arrays({0, 2, 4, 6, 10, 10}, {0, 1, 2});
  const DataSettings settings = arrays(kOrdered + "normalize: minmax\n");
  const Dataset dataset = load_dataset(settings);
  write_arrays({12, 3}, {1});
  const Samples samples = load_for_inference(settings, dataset, DataPart::kAll, Targets::kRequired).samples;
  EXPECT_THAT(values_of<float>(samples.inputs), ElementsAre(2, 0.5)) << "0 to 6 became 0 to 1";
  write_arrays({12, 3}, {3});
  EXPECT_EQ(
      error_of(ExitCode::kData, [&] { load_for_inference(settings, dataset, DataPart::kAll, Targets::kRequired); }),
      "{}/y.npy: sample 0 (counted from 0) has class 3, expected one of 3 classes, 0 to 2");
}

TEST_F(LoadForInference, RefusesScalesThatAreNotOfTheFeatures) {
  write_arrays({0, 2, 4, 6, 10, 10}, {0, 1, 2});
  const DataSettings settings = arrays(kOrdered + "normalize: minmax\n");
  Dataset forged = load_dataset(settings);
  forged.feature_scales.clear();
  EXPECT_EQ(error_of(ExitCode::kCheckpoint,
                     [&] { load_for_inference(settings, forged, DataPart::kAll, Targets::kRequired); }),
            "the checkpoint has 0 scales for 1 feature; it is damaged or not of ours");
}

TEST_F(LoadForInference, TakesArraysWithoutTargetsOnlyWhereNobodyNeedsThem) {
  write_arrays({0, 2, 4, 6, 10, 10}, {0, 1, 1});
  DataSettings settings = arrays(kOrdered);
  const Dataset dataset = load_dataset(settings);
  settings.train_targets.clear();
  EXPECT_FALSE(load_for_inference(settings, dataset, DataPart::kAll, Targets::kWhereThere).samples.targets.defined());
  EXPECT_EQ(
      error_of(ExitCode::kUsage, [&] { load_for_inference(settings, dataset, DataPart::kAll, Targets::kRequired); }),
      "{}/x.npy: these samples have no targets: name their file in data.train_targets");
}

TEST_F(LoadForInference, RefusesFeaturesThatTheModelDoesNotHave) {
  write_arrays({0, 2, 4, 6}, {0, 1});
  const DataSettings settings = arrays(kOrdered);
  const Dataset dataset = load_dataset(settings);
  write_npy("x.npy", "<f4", "1, 2, 3", std::vector<float>{1, 2, 3, 4, 5, 6});
  write_npy("y.npy", "<i8", "1,", std::vector<int64_t>{0});
  EXPECT_EQ(
      error_of(ExitCode::kData, [&] { load_for_inference(settings, dataset, DataPart::kAll, Targets::kRequired); }),
      "npy from {}/x.npy: got 3 features a step, but the model was trained on 1");
}

TEST_F(LoadForInference, ReadsTextInTheVocabularyOfTraining) {
  const auto settings = [&](const std::string& file) {
    return parse_settings("source: text\npath: " + path(file) + "\nsequence_length: 2\n");
  };
  write("a.txt", "abcabcabc");
  const Dataset dataset = load_dataset(settings("a.txt"));
  write("b.txt", "ccb");
  const Samples samples = load_for_inference(settings("b.txt"), dataset, DataPart::kAll, Targets::kRequired).samples;
  EXPECT_THAT(values_of<int64_t>(samples.inputs), ElementsAre(2, 2));
  EXPECT_THAT(values_of<int64_t>(samples.targets), ElementsAre(2, 1));
}

TEST_F(LoadForInference, LeavesGeneratedDataTheirParts) {
  const DataSettings settings = parse_settings("source: digits\nnum_train: 20\nnum_valid: 10\n");
  const Dataset dataset = load_dataset(settings);
  EXPECT_TRUE(load_for_inference(settings, dataset, DataPart::kValid, Targets::kRequired)
                  .samples.inputs.equal(dataset.valid.inputs));
  EXPECT_EQ(
      error_of(ExitCode::kUsage, [&] { load_for_inference(settings, dataset, DataPart::kAll, Targets::kRequired); }),
      "data.source: digits has a training and a validation part of its own; use part train or valid");
}

}  // namespace
}  // namespace rnnlab
