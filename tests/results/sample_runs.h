// SPDX-License-Identifier: Apache-2.0
// Sample run folders, as a training run writes them, for tests of their readers.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/system/temporary_folder.h"
#include "results/environment.h"
#include "results/epoch_row.h"
#include "results/run_record.h"
#include "results/summary.h"

namespace rnnlab::testing {

// A run on an idle machine with a release build, in its own process. A test changes the values that it needs and then
// calls write.
struct SampleRun {
  std::string config;
  Environment environment;
  Summary summary;
  std::vector<double> train_seconds;
  bool first_is_warmup = true;
  double num_samples = 120000;  // of an epoch
  double train_loss = 0.5;
  double train_loss_of_cut_epoch = 0;  // of an epoch after summary.epochs

  void write(const std::filesystem::path& folder) const;
};

SampleRun sample_run(const std::string& device, const std::string& layer, int64_t seed,
                     const std::vector<double>& train_seconds);

// Rows and records with simple numbers.

inline EpochRow sample_row(int64_t epoch, double train_seconds) {
  return {.epoch = epoch,
          .train_loss = 0.5,
          .valid_loss = 0.25,
          .metrics = {{"train_accuracy", 0.75}, {"valid_accuracy", 0.875}},
          .learning_rate = 0.001,
          .gradient_norm = 1.5,
          .train_seconds = train_seconds,
          .valid_seconds = 0.125,
          .data_seconds = 0.0625,
          .samples_per_second = 120000 / train_seconds,
          .peak_memory_bytes = 1610612736};
}

inline std::vector<EpochRow> sample_rows(const std::vector<double>& train_seconds) {
  std::vector<EpochRow> rows;
  for (const double seconds : train_seconds) rows.push_back(sample_row(static_cast<int64_t>(rows.size()) + 1, seconds));
  return rows;
}

// The following runs are in memory and have only the values that a comparison of times reads.

inline RunRecord sample_record(const Turn& turn, const std::vector<double>& timed_seconds) {
  RunRecord run;
  run.summary.turn = turn;
  for (const double seconds : timed_seconds) {
    EpochRow& row = run.rows.emplace_back();
    row.epoch = static_cast<int64_t>(run.rows.size());
    row.train_seconds = seconds;
  }
  return run;
}

// Returns a run of a process outside of a measurement.
inline RunRecord process_record(const std::string& process, const std::vector<double>& timed_seconds) {
  Turn turn;
  turn.process = process;
  return sample_record(turn, timed_seconds);
}

// Returns a run of the process of round `round` of a measurement, on the side `side`.
inline RunRecord sample_record(const std::string& side, int64_t round, const std::vector<double>& timed_seconds) {
  return sample_record({.process = side + std::to_string(round), .measurement = "m", .round = round}, timed_seconds);
}

inline RunGroup group_of(const std::vector<RunRecord>& runs) {
  RunGroup group;
  for (const RunRecord& run : runs) group.runs.push_back(&run);
  return group;
}

// The following runs are of several processes, in rounds.

// The slowness of the machine in each of five rounds.
inline const std::vector<double> kFiveRounds = {1, 1.1, 1.02, 0.97, 1.05};

// Returns a run with epochs of `seconds`; each process has two threads, as in every sample run.
inline SampleRun run_of_devices(int64_t devices, double seconds) {
  SampleRun run = sample_run("cpu", "fused", 1, {9, 0.99 * seconds, seconds, 1.02 * seconds});
  run.config += fmt::format("devices: {}\n", devices);
  if (devices > 1) run.environment.ranks = RanksInfo{.num_processes = devices, .num_hosts = 1, .exchange = "gloo"};
  return run;
}

// Returns a run whose batch grows with the number of devices.
inline SampleRun run_of_equal_parts(int64_t devices, int64_t samples_a_device, double seconds) {
  SampleRun run = run_of_devices(devices, seconds);
  run.summary.identity.batch_size = devices * samples_a_device;
  const size_t at = run.config.find("batch_size: 128");
  run.config.replace(at, 15, fmt::format("batch_size: {}", devices * samples_a_device));
  return run;
}

// Puts each run into the same rounds of one measurement, in which the machine had this slowness.
inline std::vector<RunRecord> in_rounds(const std::vector<SampleRun>& runs, const std::vector<double>& slowness,
                                        const TemporaryFolder& folder) {
  std::vector<RunRecord> records;
  for (size_t round = 0; round < slowness.size(); ++round)
    for (size_t i = 0; i < runs.size(); ++i) {
      SampleRun run = runs[i];
      for (double& seconds : run.train_seconds) seconds *= slowness[round];
      run.summary.turn = {.process = fmt::format("{}-{}", i, round),
                          .measurement = "m",
                          .round = static_cast<int64_t>(round) + 1,
                          .position = static_cast<int64_t>(i) + 1,
                          .case_number = static_cast<int64_t>(i) + 1};
      const auto place = folder.path() / fmt::format("run{}-{}", i, round);
      run.write(place);
      records.push_back(load_run(place));
    }
  return records;
}

}  // namespace rnnlab::testing
