// SPDX-License-Identifier: Apache-2.0
// An experiment that trains in a moment, for tests of the code around training.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "runs/sweep.h"
#include "runs/tiny_yaml.h"

namespace rnnlab::testing {

inline std::vector<ExperimentCase> cases_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  config::Findings findings;
  auto document = config::Document::from_text(yaml, "tiny.yaml", findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  auto cases = read_cases(document, findings);
  EXPECT_EQ(findings.lines(), std::vector<std::string>{});
  return cases;
}

inline Experiment tiny_experiment(const std::vector<std::string>& overrides = {}) {
  return cases_of(kTinyYaml, overrides).front().experiment;
}

// These speeds, by the number of threads, are those of a busy CPU.
inline std::map<int64_t, double> one_thread_is_fastest(int64_t) { return {{2, 1.0}, {1, 10.0}}; }

// Trains a run into the folder `out`, without a line of output.
inline RunOutcome run_quietly(const Experiment& experiment, const std::filesystem::path& out,
                              const std::vector<Observer*>& observers = {}) {
  Logger logger(Verbosity::kQuiet, Terminal{});
  return run_experiment(experiment, {.out = out, .command_line = {"rnnlab", "train"}, .observers = observers}, logger);
}

}  // namespace rnnlab::testing
