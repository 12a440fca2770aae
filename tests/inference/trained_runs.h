// Small trained runs for the tests of inference/, each in a fresh folder.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "experiment/run_all.h"
#include "inference/trained_model.h"
#include "system/temporary_folder.h"

namespace rnnlab::testing {

// Where data files of the test lie, and its runs. It is the current folder, so that no file of the user is found.
class TrainedRuns : public ::testing::Test {
 protected:
  TrainedRuns() { std::filesystem::current_path(folder_.path()); }
  ~TrainedRuns() override { std::filesystem::current_path(previous_); }

  // The run's folder. `yaml` without name and device; {} in it is the folder.
  std::filesystem::path train(const std::string& yaml, const std::vector<std::string>& overrides = {});

  void write(const std::string& file, const std::string& text) const { write_text(folder_.path() / file, text); }
  std::string name(const std::string& file) const { return folder_.name(file); }

  // A table of two kinds of flowers, as `file`, and an experiment that learns to tell them apart.
  void write_flowers(const std::string& file) const;
  std::filesystem::path train_flowers(const std::vector<std::string>& overrides = {});

  // A series of a sine, and a forecaster of it, whose targets are scaled.
  void write_series(const std::string& file, int num_rows) const;
  std::filesystem::path train_series(const std::vector<std::string>& overrides = {});

  // A short text with a pattern, and a language model of it.
  std::filesystem::path train_text(const std::vector<std::string>& overrides = {});

  TrainedModel load(const std::filesystem::path& run, const std::vector<std::string>& overrides = {},
                    std::optional<DataPart> part = std::nullopt) const {
    return load_trained_model({.run = run, .checkpoint = "", .overrides = overrides, .part = part});
  }

  TemporaryFolder folder_;

 private:
  std::filesystem::path previous_ = std::filesystem::current_path();
};

}  // namespace rnnlab::testing
