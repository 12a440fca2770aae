// SPDX-License-Identifier: Apache-2.0
// Small trained runs for the tests of inference/, each in a fresh folder.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/system/temporary_folder.h"
#include "runs/sweep.h"
#include "runs/tiny_experiment.h"
#include "runs/use/trained_model.h"

namespace rnnlab::testing {

// Contains data files of the test and its runs in a fresh folder, which is the current one, so that no file of the user
// is found.
class TrainedRuns : public ::testing::Test {
 protected:
  TrainedRuns() { std::filesystem::current_path(folder_.path()); }
  ~TrainedRuns() override { std::filesystem::current_path(previous_); }

  // Trains and returns the run's folder. `yaml` must not contain name and device; {} in it is replaced by the folder.
  std::filesystem::path train(const std::string& yaml, const std::vector<std::string>& overrides = {});

  void write(const std::string& file, const std::string& text) const { write_text(folder_.path() / file, text); }
  std::string name(const std::string& file) const { return folder_.name(file); }

  // Write a table of two kinds of flowers as `file`, and train an experiment that classifies them.
  void write_flowers(const std::string& file) const;
  std::filesystem::path train_flowers(const std::vector<std::string>& overrides = {});

  // Write a sine as a series, and train a forecaster of it with scaled targets.
  void write_series(const std::string& file, int num_rows) const;
  std::filesystem::path train_series(const std::vector<std::string>& overrides = {});

  // Trains a language model of a short text with a pattern.
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
