// SPDX-License-Identifier: Apache-2.0
// An experiment that trains in a moment, for tests of the code around training.
#pragma once

#include <gtest/gtest.h>

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

}  // namespace rnnlab::testing
