// SPDX-License-Identifier: Apache-2.0
// Tests runs whose inputs stay in a mapped file (data.memory) against runs with the same inputs in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/program.h"
#include "data/npy_file.h"
#include "reliability/trained_run.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::with;
using testing::Words;

constexpr const char* kWavesYaml = R"(name: waves
device: cpu
layer: fused
data: {source: npy, train_inputs: x.npy, train_targets: y.npy, train_lengths: n.npy, num_test: 8, normalize: standard}
model: {hidden_size: 4}
training: {epochs: 3, batch_size: 16}
)";

class MappedRun : public ::testing::Test {
 protected:
  static constexpr int64_t kSamples = 120, kSteps = 9, kFeatures = 3;

  void SetUp() override {
    std::vector<double> inputs;
    std::vector<int64_t> targets, lengths;
    for (int64_t i = 0; i < kSamples * kSteps * kFeatures; ++i)
      inputs.push_back(std::sin(0.7 * static_cast<double>(i)));
    for (int64_t i = 0; i < kSamples; ++i) {
      targets.push_back(i % 3);
      lengths.push_back(1 + i * 7 % kSteps);
    }
    program_.write("x.npy", npy_file("<f8", "120, 9, 3", inputs));
    program_.write("y.npy", npy_file("<i8", "120,", targets));
    program_.write("n.npy", npy_file("<i8", "120,", lengths));
    program_.write("waves.yaml", kWavesYaml);
  }

  std::string output(const Words& arguments) const { return program_.run(arguments, 0).output; }

  // Returns the folder of a run below `out`.
  std::string train(const std::string& out, const Words& settings) const {
    output(with({"train", "-q", "waves.yaml", "--out", out}, settings));
    return testing::only_run_in(program_.folder() / out, "waves").string();
  }

  Program program_;
};

TEST_F(MappedRun, HasTheEpochsAndWeightsOfInputsInMemory) {
  const std::string resident = train("resident", {"data.memory=resident"});
  for (const std::string more : {"data.placement=host", "device=cpu"}) {
    const std::string mapped = train("mapped-" + more, {"data.memory=mapped", more});
    EXPECT_EQ(testing::read_trained_run(mapped), testing::read_trained_run(resident));
    const std::string log = testing::read_text(mapped + "/train.log");
    EXPECT_THAT(log, HasSubstr("inputs stay in x.npy"));
    EXPECT_THAT(log, HasSubstr("placement host"));
  }
}

TEST_F(MappedRun, HasThemForEveryNormalizationAndOrder) {
  for (const std::string more : {"data.normalize=none", "data.normalize=minmax", "data.normalize=column_minmax",
                                 "training.batch_by_length=true", "data.split=ordered"}) {
    SCOPED_TRACE(more);
    EXPECT_EQ(testing::read_trained_run(train("mapped-" + more, {"data.memory=mapped", more})),
              testing::read_trained_run(train("resident-" + more, {"data.memory=resident", more})));
  }
}

TEST_F(MappedRun, ResumesARunWithInputsInMemoryAndBack) {
  const auto whole = testing::read_trained_run(train("whole", {"data.memory=resident"}));
  for (const std::string then : {"resident", "mapped"}) {
    const std::string stopped = train("first-" + then, {"data.memory=" + then, "training.max_steps=9"});
    const std::string other = then == "mapped" ? "resident" : "mapped";
    output({"train", "-q", "--resume", stopped, "training.max_steps=null", "data.memory=" + other});
    EXPECT_EQ(testing::read_trained_run(stopped), whole);
    EXPECT_THAT(testing::read_text(stopped + "/train.log"), Not(HasSubstr("different placement")));
  }
}

TEST_F(MappedRun, PredictsEvaluatesAndInspectsAlike) {
  const std::string trained = train("out", {"data.memory=mapped"});
  for (const std::string part : {"train", "valid", "test", "all"}) {
    const auto predictions = [&](const std::string& memory) {
      return output({"predict", trained, "--part", part, "data.memory=" + memory});
    };
    EXPECT_EQ(predictions("mapped"), predictions("resident")) << part;
  }
  EXPECT_THAT(output({"evaluate", trained}), HasSubstr("accuracy"));
  const auto inspection = [&](const std::string& memory) {
    return output({"data", "inspect", "waves.yaml", "data.memory=" + memory});
  };
  const std::string resident = inspection("resident");
  EXPECT_THAT(inspection("mapped"), HasSubstr(resident.substr(resident.find("fingerprint"))));
}

TEST_F(MappedRun, IsDividedAmongProcesses) {
  const std::string together = train("two", {"data.memory=mapped", "devices=2"});
  EXPECT_EQ(testing::read_trained_run(together),
            testing::read_trained_run(train("two-resident", {"data.memory=resident", "devices=2"})));
}

TEST_F(MappedRun, CannotBeExported) {
  program_.expect_error(2, {"export", "waves.yaml", "data.memory=mapped", "-o", "work.safetensors"});
}

constexpr int64_t kMiB = 1 << 20;

// A hole in a file takes no place on the disk and holds zeros.
void write_large_array(const std::filesystem::path& file, const std::string& shape, int64_t num_bytes) {
  const std::string header = npy_file<float>("<f4", shape, {});
  testing::write_text(file, header);
  std::filesystem::resize_file(file, header.size() + static_cast<size_t>(num_bytes));
}

// The limit is on memory that is not a mapped file (RLIMIT_DATA), of which the libraries alone need half.
TEST_F(MappedRun, NeedsLittleMemoryForAFileOfFourTimesItsLimit) {
  write_large_array(program_.folder() / "zeros.npy", "2048, 64, 4096", 2048 * kMiB);
  program_.write("labels.npy", npy_file("<i8", "2048,", std::vector<int64_t>(2048, 0)));
  program_.write("large.yaml", R"(name: large
device: cpu
layer: fused
data: {source: npy, train_inputs: zeros.npy, train_targets: labels.npy, num_valid: 20}
model: {hidden_size: 1}
training: {epochs: 1, batch_size: 8, num_threads: 1}
)");
  const std::string train = "ulimit -d 524288; \"$0\" train -q large.yaml ";
  const auto resident = program_.run_in_shell(train + "data.memory=resident", 4);
  EXPECT_THAT(resident.errors, HasSubstr("data.memory: mapped\n"));
  program_.run_in_shell(train, 0);
  EXPECT_THAT(testing::read_text(program_.run_folders("large").at(0) + "/train.log"), HasSubstr("stay in zeros.npy "));
}

TEST_F(MappedRun, ReadsAValidationFileIntoMemoryThatCannotBeMapped) {
  write_large_array(program_.folder() / "zeros.npy", "512, 64, 4096", 512 * kMiB);
  program_.write("labels.npy", npy_file("<i8", "512,", std::vector<int64_t>(512, 0)));
  std::string valid = npy_file("<f4", "2, 64, 4096", std::vector<float>(2 * 64 * 4096, 1));
  program_.write("valid.npy", valid.replace(valid.find("False"), 5, "True "));
  program_.write("valid_labels.npy", npy_file("<i8", "2,", std::vector<int64_t>(2, 0)));
  program_.write("both.yaml", R"(name: both
device: cpu
layer: fused
data:
  source: npy
  train_inputs: zeros.npy
  train_targets: labels.npy
  valid_inputs: valid.npy
  valid_targets: valid_labels.npy
model: {hidden_size: 1}
training: {epochs: 1, batch_size: 8, num_threads: 1}
)");
  program_.run_in_shell("ulimit -d 524288; \"$0\" train -q both.yaml", 0);
  const std::string log = testing::read_text(program_.run_folders("both").at(0) + "/train.log");
  EXPECT_THAT(log, HasSubstr("valid.npy is not mapped "));
  EXPECT_THAT(log, HasSubstr("stay in zeros.npy "));
}

}  // namespace
}  // namespace rnnlab
