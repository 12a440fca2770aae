// SPDX-License-Identifier: Apache-2.0
#include "data/load_dataset.h"

#include <cmath>
#include <functional>
#include <limits>

#include "base/text.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class LoadForInference : public DataTest {
 protected:
  DataSettings table(const std::string& file, const std::string& rest) const {
    return parse_settings("source: csv\npath: " + path(file) + "\n" + rest);
  }
  static InferenceData all_of(const DataSettings& settings, const FittedData& fitted,
                              Targets targets = Targets::kRequired) {
    return load_for_inference(settings, fitted, DataPart::kAll, targets);
  }
  // Trains on the data, too.
  static InferenceData part_of(const DataSettings& settings, DataPart part, Targets targets = Targets::kRequired) {
    return load_for_inference(settings, load_dataset(settings), part, targets);
  }
  std::string refusal(ExitCode code, const DataSettings& settings, const FittedData& fitted) const {
    return error_of(code, [&] { all_of(settings, fitted); });
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
  const auto part = [&](DataPart which) { return part_of(settings, which).samples; };
  EXPECT_TRUE(part(DataPart::kTrain).inputs.equal(dataset.train.inputs));
  EXPECT_TRUE(part(DataPart::kValid).inputs.equal(dataset.valid.inputs));
  EXPECT_TRUE(part(DataPart::kValid).targets.equal(dataset.valid.targets));
  EXPECT_EQ(part(DataPart::kAll).size(), 5);
}

TEST_F(LoadForInference, SaysWherePredictionsAreOfAPartOfTheFile) {
  write("a.csv", "x,y\n1,0\n3,1\n5,0\n9,1\n2,0\n");
  const auto notes_on = [&](const std::string& more, DataPart part, Targets targets) {
    return part_of(table("a.csv", "target: [y]\nnum_valid: 2\n" + more), part, targets).notes;
  };
  expect_golden(notes_on("", DataPart::kValid, Targets::kIfPresent));
  EXPECT_THAT(notes_on("", DataPart::kAll, Targets::kIfPresent), ElementsAre());
  expect_golden(notes_on("split: ordered\n", DataPart::kValid, Targets::kIfPresent));
  EXPECT_THAT(notes_on("", DataPart::kValid, Targets::kRequired), ElementsAre()) << "a mean is of a part on purpose";
}

TEST_F(LoadForInference, FitsNothingAnew) {
  write("a.csv", "x,y\n0,10\n2,30\n7,7\n");
  const Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [y]\ntask: regression\n"));
  write("b.csv", "x,y\n100,20\n");
  const Samples samples = all_of(table("b.csv", kOrdered + "target: [y]\ntask: regression\n"), dataset).samples;
  EXPECT_THAT(values_of<float>(samples.inputs), ElementsAre(99)) << "mean 1, deviation 1";
  EXPECT_THAT(values_of<float>(samples.targets), ElementsAre(0));
}

TEST_F(LoadForInference, FillsMissingValuesByTheMeansOfTraining) {
  write("a.csv", "x,y\n0,1\n4,1\n7,0\n");
  const std::string settings = kOrdered + "target: [y]\nmissing: mean\nnormalize: none\n";
  const Dataset dataset = load_dataset(table("a.csv", settings));
  write("b.csv", "x,y\n,1\n100,0\n");
  const InferenceData data = all_of(table("b.csv", settings), dataset);
  EXPECT_THAT(values_of<float>(data.samples.inputs), ElementsAre(2, 100));
  expect_golden(data.notes);
  EXPECT_EQ(data.description, "csv from b.csv: 2 samples") << "it is made to be shared, and so tells no folder";
}

std::vector<std::string> texts_of(const FileRows& rows) {
  std::vector<std::string> texts;
  for (const FileRow& row : rows.rows)
    texts.push_back(fmt::format("{} {} {}", row.number, join(row.id, "/"),
                                row.sample ? fmt::format("sample {}", *row.sample) : row.reason));
  return texts;
}

class RowsOfAFile : public LoadForInference {
 protected:
  InferenceData use(const std::string& file, const std::string& rest, DataPart part = DataPart::kAll) const {
    return load_for_inference(table(file, rest), load_dataset(table("a.csv", rest)), part, Targets::kIfPresent);
  }
};

TEST_F(RowsOfAFile, SayWhyOneWasDropped) {
  write("a.csv", "day,x,z,y\nmon,1,2,10\ntue,3,,30\n\"wed\nnight\",,,4\n\nthu,7,8,NA\nfri,7,8,1\n");
  const std::string settings = "target: [y]\nid: [day]\ntask: regression\nmissing: drop\nnormalize: none\n" + kOrdered;
  const InferenceData data = use("a.csv", settings);
  expect_golden(texts_of(data.rows));
  EXPECT_THAT(values_of<float>(data.samples.inputs), ElementsAre(1, 2, 7, 8, 7, 8));
  EXPECT_TRUE(std::isnan(data.samples.targets[1].item<float>())) << "a target that is missing is unknown";
  expect_golden(data.notes);
}

TEST_F(RowsOfAFile, AreThoseOfTheTargetsOfWindows) {
  write("a.csv", "day,y\nmon,1\ntue,2\nwed,3\nthu,4\nfri,5\n");
  const std::string settings = "target: [y]\nid: [day]\nwindow: 2\nhorizon: 2\nnum_valid: 0\n";
  const std::string reason = " no full window before it (data.window 2, data.horizon 2)";
  EXPECT_THAT(texts_of(use("a.csv", settings).rows),
              ElementsAre("1 mon" + reason, "2 tue" + reason, "3 wed" + reason, "4 thu sample 0", "5 fri sample 1",
                          "6  sample 2", "7  sample 3"));
}

// The rows of two series take turns, and each series has a forecast after its end.
TEST_F(RowsOfAFile, AreInTheOrderOfTheFileForSeveralSeries) {
  write("a.csv", "station,y\nn,1\ns,10\nn,2\ns,20\nn,3\n");
  const std::string settings = "target: [y]\nid: [station]\ngroup: station\nwindow: 1\nnum_valid: 0\n";
  const std::string reason = " no full window before it (data.window 1, data.horizon 1)";
  EXPECT_THAT(texts_of(use("a.csv", settings).rows),
              ElementsAre("1 n" + reason, "2 s" + reason, "3 n sample 0", "4 s sample 3", "5 n sample 1",
                          "0 n sample 2", "0 s sample 4"));
}

TEST_F(RowsOfAFile, AreTheSamplesAloneOfAPart) {
  write("a.csv", "x,y\n1,0\n3,1\n,0\n9,1\n2,0\n");
  const std::string settings = "target: [y]\nmissing: drop\nseed: 3\nnum_valid: 2\nnormalize: none\n";
  const InferenceData data = use("a.csv", settings, DataPart::kValid);
  ASSERT_EQ(data.rows.rows.size(), 2u);
  const std::vector<float> inputs = {1, 3, NAN, 9, 2};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(data.rows.rows[i].sample, i);
    EXPECT_EQ(data.samples.inputs[i].item<float>(), inputs.at(data.rows.rows[i].number - 1));
  }
}

TEST_F(RowsOfAFile, LeaveOutTheSamplesThatASettingLeavesOut) {
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\n7\n8\n");
  const std::string settings = "target: [y]\nwindow: 2\nnum_valid: 1\nnum_train: 2\n";
  EXPECT_THAT(texts_of(use("a.csv", settings, DataPart::kTrain).rows), ElementsAre("3  sample 0", "4  sample 1"));
}

// Sample i has the inputs 10 i and 10 i + 1.
TEST_F(RowsOfAFile, NameTheSamplesOfAPartOfArrays) {
  write_arrays({0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51}, {0, 1, 0, 1, 0, 1});
  for (const std::string split : {"random", "ordered"}) {
    const DataSettings settings = arrays("split: " + split + "\nnum_valid: 2\nnum_test: 2\n");
    for (const DataPart part : {DataPart::kTrain, DataPart::kValid, DataPart::kTest}) {
      const InferenceData data = part_of(settings, part, Targets::kIfPresent);
      EXPECT_FALSE(data.rows.are_numbered);
      EXPECT_THAT(data.rows.id_names, ElementsAre("sample"));
      ASSERT_EQ(data.rows.rows.size(), 2u);
      for (const FileRow& row : data.rows.rows)
        EXPECT_EQ(data.samples.inputs[*row.sample][0].item<float>(), 10 * std::stof(row.id.front())) << split;
    }
  }
}

TEST_F(RowsOfAFile, AreMissingForWholeArrays) {
  write_arrays({0, 2, 4, 6}, {0, 1});
  EXPECT_TRUE(part_of(arrays(kOrdered), DataPart::kAll, Targets::kIfPresent).rows.rows.empty());
}

TEST_F(LoadForInference, LeavesMissingTargetsUnknownWhereNobodyNeedsThem) {
  write("a.csv", "x,kind\n1,cat\n2,dog\n3,cat\n");
  const Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [kind]\n"));
  write("b.csv", "x,kind\n1,\n2,dog\n");
  const auto load = [&](Targets targets) {
    return all_of(table("b.csv", kOrdered + "target: [kind]\n"), dataset, targets).samples;
  };
  EXPECT_THAT(values_of<int64_t>(load(Targets::kIfPresent).targets), ElementsAre(-1, 1));
  expect_golden(error_of(ExitCode::kData, [&] { load(Targets::kRequired); }));
}

TEST_F(LoadForInference, FillsByTheMeansOfATrainingThatLackedNothing) {
  write("a.csv", "x,y\n0,1\n4,1\n7,0\n");
  const Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [y]\nnormalize: none\n"));
  write("b.csv", "x,y\n,1\n");
  const auto filled = all_of(table("b.csv", kOrdered + "target: [y]\nnormalize: none\nmissing: mean\n"), dataset);
  EXPECT_THAT(values_of<float>(filled.samples.inputs), ElementsAre(2));
}

// As a checkpoint of an earlier version, which kept means only for missing: mean.
TEST_F(LoadForInference, SaysThatThereIsNoMean) {
  write("a.csv", "x,y\n0,1\n4,1\n7,0\n");
  Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [y]\n"));
  dataset.column_means.clear();
  write("b.csv", "x,y\n,1\n");
  expect_golden(refusal(ExitCode::kData, table("b.csv", kOrdered + "target: [y]\nmissing: mean\n"), dataset));
}

TEST_F(LoadForInference, NamesAClassThatTrainingNeverSaw) {
  write("a.csv", "x,kind\n1,cat\n2,dog\n3,cat\n");
  const Dataset dataset = load_dataset(table("a.csv", kOrdered + "target: [kind]\n"));
  write("b.csv", "x,kind\n1,cat\n2,cow\n");
  expect_golden(refusal(ExitCode::kData, table("b.csv", kOrdered + "target: [kind]\n"), dataset));
}

TEST_F(LoadForInference, TakesTheWindowsWhoseTargetIsStillToCome) {
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\n");
  const DataSettings settings = table("a.csv", "target: [y]\nwindow: 2\nhorizon: 2\nnormalize: none\nnum_valid: 0\n");
  const auto all = [&](Targets targets) { return part_of(settings, DataPart::kAll, targets).samples; };
  EXPECT_EQ(all(Targets::kRequired).size(), 3);
  const Samples open = all(Targets::kIfPresent);
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
  EXPECT_THAT(values_of<float>(all_of(settings, dataset).samples.inputs), ElementsAre(2, 0.5))
      << "0 to 6 became 0 to 1";
  write_arrays({12, 3}, {3});
  expect_golden(refusal(ExitCode::kData, settings, dataset));
}

TEST_F(LoadForInference, RefusesTargetsThatTheModelDoesNotHave) {
  const Dataset two_classes =
      load_dataset(parse_settings("source: synthetic\nsequence_length: 28\nnum_features: 28\nnum_classes: 2\n"));
  const DataSettings digits = parse_settings("source: digits\nnum_train: 20\nnum_valid: 10\n");
  const auto use = [&](const FittedData& fitted) {
    return error_of(ExitCode::kData, [&] { load_for_inference(digits, fitted, DataPart::kValid, Targets::kRequired); });
  };
  expect_golden(use(two_classes));
  const Dataset numbers =
      load_dataset(parse_settings("source: synthetic\nsequence_length: 28\nnum_features: 28\nlabels: gaussian\n"));
  expect_golden(use(numbers));
}

TEST_F(LoadForInference, TakesArraysWithoutTargetsOnlyWhereNobodyNeedsThem) {
  write_arrays({0, 2, 4, 6, 10, 10}, {0, 1, 1});
  DataSettings settings = arrays(kOrdered);
  const Dataset dataset = load_dataset(settings);
  settings.train_targets.clear();
  EXPECT_FALSE(all_of(settings, dataset, Targets::kIfPresent).samples.targets.defined());
  expect_golden(refusal(ExitCode::kUsage, settings, dataset));
}

TEST_F(LoadForInference, RefusesFeaturesThatTheModelDoesNotHave) {
  write_arrays({0, 2, 4, 6}, {0, 1});
  const DataSettings settings = arrays(kOrdered);
  const Dataset dataset = load_dataset(settings);
  write_npy("x.npy", "<f4", "1, 2, 3", std::vector<float>{1, 2, 3, 4, 5, 6});
  write_npy("y.npy", "<i8", "1,", std::vector<int64_t>{0});
  expect_golden(refusal(ExitCode::kData, settings, dataset));
}

TEST_F(LoadForInference, ReadsTextInTheVocabularyOfTraining) {
  const auto settings = [&](const std::string& file) {
    return parse_settings("source: text\npath: " + path(file) + "\nsequence_length: 2\n");
  };
  write("a.txt", "abcabcabc");
  const Dataset dataset = load_dataset(settings("a.txt"));
  write("b.txt", "ccb");
  const Samples samples = all_of(settings("b.txt"), dataset).samples;
  EXPECT_THAT(values_of<int64_t>(samples.inputs), ElementsAre(2, 2));
  EXPECT_THAT(values_of<int64_t>(samples.targets), ElementsAre(2, 1));
}

TEST_F(LoadForInference, LeavesGeneratedDataTheirParts) {
  const DataSettings settings = parse_settings("source: digits\nnum_train: 20\nnum_valid: 10\n");
  const Dataset dataset = load_dataset(settings);
  EXPECT_TRUE(part_of(settings, DataPart::kValid).samples.inputs.equal(dataset.valid.inputs));
  expect_golden(refusal(ExitCode::kUsage, settings, dataset));
}

class DataSizeOf : public DataTest {};

TEST_F(DataSizeOf, GeneratedDataIsExact) {
  for (const std::string yaml :
       {"source: digits\nnum_train: 20\nnum_valid: 10\n", "source: synthetic\nsequence_length: 5\nnum_features: 3\n",
        "source: synthetic\nsequence_length: 5\nlabels: gaussian\n", "source: synthetic\nlabels: binary\n"}) {
    const DataSettings settings = parse_settings(yaml);
    const Dataset data = load_dataset(settings);
    EXPECT_EQ(least_data_bytes(settings), data.train.bytes() + data.valid.bytes()) << yaml;
    const DataShape shape = least_shape(settings);
    EXPECT_EQ(shape.task, data.shape.task) << yaml;
    EXPECT_EQ(shape.input_size, data.train.inputs.size(2)) << yaml;
    EXPECT_EQ(shape.sequence_length, data.train.inputs.size(1)) << yaml;
    EXPECT_EQ(shape.num_outputs, data.shape.num_outputs) << yaml;
  }
}

TEST_F(DataSizeOf, GeneratedDataSaturates) {
  const DataSettings settings = parse_settings(
      "source: synthetic\nnum_train: 1000000000\nsequence_length: 1000000000\nnum_features: 1000000000\n");
  EXPECT_EQ(least_data_bytes(settings), std::numeric_limits<int64_t>::max());
}

TEST_F(DataSizeOf, FilesIsThatOfTheLargest) {
  write("a.csv", "a,b\n1,2\n");
  write("b.csv", "a,b\n1,2\n3,4\n");
  const std::string folder_of_files = "source: csv\ntarget: [b]\npath: " + folder().string() + "\n";
  EXPECT_EQ(least_data_bytes(parse_settings(folder_of_files + "train_file: a.csv\nvalid_file: b.csv\n")), 12);
  EXPECT_EQ(least_data_bytes(parse_settings("source: csv\ntarget: [b]\npath: " + path("a.csv") + "\n")), 8);
  EXPECT_EQ(least_data_bytes(parse_settings(folder_of_files + "train_file: missing.csv\n")), 0);
}

TEST_F(DataSizeOf, FilesHasTheShapeThatTheSettingsSay) {
  const DataShape series = least_shape(parse_settings("source: csv\npath: a.csv\ntarget: [b]\nwindow: 7\n"));
  EXPECT_EQ(series.task, Task::kRegression);
  EXPECT_EQ(series.sequence_length, 7);
  const DataShape text = least_shape(parse_settings("source: text\npath: a.txt\nsequence_length: 9\n"));
  EXPECT_EQ(text.task, Task::kLanguageModel);
  EXPECT_EQ(text.sequence_length, 9);
}

// What was fitted to a table, and a change that a stranger makes to it.
class FaultOfFittedData : public DataTest {
 protected:
  FaultOfFittedData() { write("a.csv", "a,b\n1,2\n2,4\n3,5\n4,9\n5,1\n6,3\n"); }

  std::string fault(const std::string& yaml, const std::function<void(FittedData&)>& change) const {
    const DataSettings settings = parse_settings("path: " + path("a.csv") + "\n" + yaml);
    FittedData data = load_dataset(settings);
    EXPECT_EQ(fault_of(data, settings), "");
    change(data);
    return fault_of(data, settings);
  }

  std::string series_fault(const std::function<void(FittedData&)>& change) const {
    return fault("source: csv\ntarget: [b]\nwindow: 1\nvalid_fraction: 0.4\n", change);
  }
};

TEST_F(FaultOfFittedData, IsOfASeriesWithOtherColumns) {
  EXPECT_EQ(series_fault([](FittedData& data) { data.feature_scales.clear(); }), "0 scales for 2 columns");
  expect_golden(series_fault([](FittedData& data) { data.shape.sequence_length = 7; }));
  EXPECT_EQ(series_fault([](FittedData& data) { data.target_scales.clear(); }), "0 scales of 1 targets");
  EXPECT_EQ(series_fault([](FittedData& data) {
              data.shape.num_outputs = 2;
              data.target_scales.resize(2);
            }),
            "1 columns of 2 outputs");
}

TEST_F(FaultOfFittedData, IsOfATableWithOtherColumnsOrClasses) {
  const auto table_fault = [&](const std::function<void(FittedData&)>& change) {
    return fault("source: csv\ntarget: [b]\n", change);
  };
  EXPECT_EQ(table_fault([](FittedData& data) { data.feature_scales.clear(); }), "0 scales for 1 column");
  expect_golden(table_fault([](FittedData& data) { data.shape.input_size = 3; }));
  EXPECT_EQ(table_fault([](FittedData& data) { data.vocabulary.clear(); }), "0 names of 6 outputs");
}

TEST_F(FaultOfFittedData, IsOfATextWithoutTokens) {
  write("a.txt", "abcabcabcabc");
  const std::string yaml = "source: text\nsequence_length: 2\ntrain_file: a.txt\n";
  const DataSettings settings = parse_settings("path: " + folder().string() + "\n" + yaml);
  FittedData data = load_dataset(settings);
  EXPECT_EQ(fault_of(data, settings), "");
  data.vocabulary = {"a", "b", "cd"};
  expect_golden(fault_of(data, settings));
  data.vocabulary.clear();
  EXPECT_EQ(fault_of(data, settings), "a text without tokens");
}

TEST_F(FaultOfFittedData, IsOfNumbersThatAreNotFinite) {
  expect_golden(
      series_fault([](FittedData& data) { data.column_means["a"] = std::numeric_limits<double>::infinity(); }));
  expect_golden(series_fault([](FittedData& data) { data.feature_scales[0].scale = 0; }));
}

// The parts are the same for training and for use, and no sample is in two of them.
TEST_F(LoadForInference, GivesATestPartThatTrainingDoesNotHave) {
  write("a.csv", "x,y\n0,0\n1,1\n2,0\n3,1\n4,0\n5,1\n6,0\n7,1\n");
  for (const std::string split : {"random", "ordered"}) {
    const DataSettings settings =
        table("a.csv", "target: [y]\nsplit: " + split + "\nnum_valid: 2\nnum_test: 3\nnormalize: none\n");
    const Dataset dataset = load_dataset(settings);
    std::vector<float> all;
    for (const DataPart part : {DataPart::kTrain, DataPart::kValid, DataPart::kTest}) {
      const std::vector<float> values = values_of<float>(part_of(settings, part).samples.inputs);
      all.insert(all.end(), values.begin(), values.end());
    }
    EXPECT_EQ(dataset.train.size(), 3);
    EXPECT_THAT(all, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7)) << split;
    EXPECT_TRUE(split == "random" || all.back() == 7);
  }
}

TEST_F(LoadForInference, ReadsAFileOfTestsAsTrainingWasRead) {
  write("a.csv", "x,y\n0,0\n2,1\n1,0\n");
  write("t.csv", "y,x\n1,101\n");
  const DataSettings settings =
      parse_settings("source: csv\npath: " + folder().string() +
                     "\ntrain_file: a.csv\ntest_file: t.csv\ntarget: [y]\nsplit: ordered\nnum_valid: 1\n");
  const InferenceData data = part_of(settings, DataPart::kTest, Targets::kIfPresent);
  EXPECT_THAT(values_of<float>(data.samples.inputs), ElementsAre(100)) << "mean 1, standard deviation 1";
  EXPECT_THAT(values_of<int64_t>(data.samples.targets), ElementsAre(1));
  expect_golden(data.description);
  EXPECT_EQ(data.rows.rows.size(), 1u);
}

TEST_F(LoadForInference, ReadsArraysOfTestsAndSplitsThemOff) {
  write_arrays({1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 0, 1});
  write_npy("tx.npy", "<f4", "1, 2, 1", std::vector<float>{9, 9});
  write_npy("ty.npy", "<i8", "1,", std::vector<int64_t>{1});
  const auto test_part = [&](const std::string& more, Targets targets = Targets::kRequired) {
    return part_of(arrays("split: ordered\nnum_valid: 1\n" + more), DataPart::kTest, targets).samples;
  };
  EXPECT_THAT(values_of<float>(test_part("num_test: 1\n").inputs), ElementsAre(7, 8));
  EXPECT_THAT(values_of<float>(test_part("test_inputs: tx.npy\ntest_targets: ty.npy\n").inputs), ElementsAre(9, 9));
  EXPECT_FALSE(test_part("test_inputs: tx.npy\n", Targets::kIfPresent).targets.defined());
  expect_golden(error_of(ExitCode::kUsage, [&] { test_part("test_inputs: tx.npy\n"); }));
  expect_golden(error_of(ExitCode::kUsage, [&] { test_part(""); }));
}

TEST_F(LoadForInference, TakesTestsFromTheEndOfATextOrFromAFile) {
  write("a.txt", "abcabcabcabca");
  write("t.txt", "cba");
  const auto test_part = [&](const std::string& more) {
    const DataSettings settings = parse_settings("source: text\npath: " + folder().string() +
                                                 "\ntrain_file: a.txt\nsequence_length: 2\nnum_valid: 1\n" + more);
    EXPECT_EQ(load_dataset(settings).train.size(), more.find("num_test") == std::string::npos ? 5 : 4);
    return part_of(settings, DataPart::kTest).samples;
  };
  EXPECT_THAT(values_of<int64_t>(test_part("num_test: 1\n").inputs), ElementsAre(1, 2));
  EXPECT_THAT(values_of<int64_t>(test_part("test_file: t.txt\n").inputs), ElementsAre(2, 1));
}

TEST_F(LoadForInference, HasNoTestPartOfGeneratedData) {
  const DataSettings settings = parse_settings("source: digits\nnum_train: 2\nnum_valid: 1\n");
  expect_golden(error_of(ExitCode::kUsage, [&] { part_of(settings, DataPart::kTest); }));
}

}  // namespace
}  // namespace rnnlab
