// SPDX-License-Identifier: Apache-2.0
// The results of a run in its folder that must not depend on whether the run was interrupted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rnnlab::testing {

// This experiment trains in a moment and saves its state after every step.
inline constexpr const char* kSmallYaml = R"(name: small
device: cpu
layer: fused
deterministic: true
data: {source: digits, num_train: 24, num_valid: 8}
model: {hidden_size: 4, output_dropout: 0.3}
training: {epochs: 2, batch_size: 12, num_threads: 1}
checkpoint: {every_seconds: 0, every_steps: 1}
)";

struct TrainedRun {
  int64_t step = 0;          // of its newest valid checkpoint
  std::string model_sha256;  // of the checkpoint's files
  std::string optimizer_sha256;
  std::vector<std::string> csv_epochs;    // one line for each row, with the values that are computed, not measured
  std::vector<std::string> jsonl_epochs;  // the same values from epochs.jsonl

  bool operator==(const TrainedRun&) const = default;
};

// Throws UserError if the folder does not contain these results.
TrainedRun read_trained_run(const std::filesystem::path& folder);

// Returns the only run folder of `experiment` below `out`.
std::filesystem::path only_run_in(const std::filesystem::path& out, const std::string& experiment);

// Returns the run folder of `experiment` below `out` that has its settings; none if the run had not begun.
std::optional<std::filesystem::path> begun_run_in(const std::filesystem::path& out, const std::string& experiment);

// Returns the files that an interrupted write left in the folder of a run, at any depth.
std::vector<std::string> leftovers_in(const std::filesystem::path& folder);

std::vector<std::string> lines_with(const std::string& text, const std::string& word);

// Returns the processes whose parent is this process.
std::vector<int> children_of(int process);

// Returns the number in this environment variable, or `otherwise`.
int64_t number_from_environment(const char* variable, int64_t otherwise);

}  // namespace rnnlab::testing
