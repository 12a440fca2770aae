// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of comparisons: runs are written as a training run writes them, read back, and compared.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "results/comparison.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {

inline const std::vector<double> kSlow = {9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5};
inline const std::vector<double> kFast = {9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5};

inline std::vector<std::string> kinds_of(const std::vector<Warning>& warnings) {
  std::vector<std::string> kinds;
  for (const Warning& warning : warnings) kinds.push_back(warning.kind);
  return kinds;
}

// Returns the reasons for which a comparison is refused, without what the message of each refusal says.
inline std::string reasons_of_refusal(const std::function<void()>& action) {
  std::string message = message_of_error(ExitCode::kUsage, action);
  const std::vector<std::string> lines = split(message, '\n');
  if (lines.size() < 3) return message;
  return join(std::vector(lines.begin() + 1, lines.end() - 1), ";");
}

class ComparedRuns : public ::testing::Test {
 protected:
  void add(const std::string& name, const SampleRun& run) {
    std::filesystem::remove_all(folder_.path() / name);
    run.write(folder_.path() / name);
    runs_.push_back(load_run(folder_.path() / name));
  }
  // Replaces all runs by two of the same work, "a" with the layer naive and "b" with fused, the second of which was
  // changed by `change`.
  void add_pair(
      const std::function<void(SampleRun&)>& change = [](SampleRun&) {}, const std::string& device = "cpu") {
    SampleRun other = sample_run(device, "fused", 1, kFast);
    change(other);
    runs_.clear();
    add("a", sample_run(device, "naive", 1, kSlow));
    add("b", other);
  }

  Comparison compared(OnDifference on_difference = OnDifference::kRefuse) const {
    return compare(runs_, {.on_difference = on_difference});
  }
  std::vector<Warning> warnings() const { return compared().warnings; }

  std::string refusal() const {
    return reasons_of_refusal([&] { compared(); });
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

}  // namespace rnnlab::testing
