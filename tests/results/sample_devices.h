// Sample runs of several processes, in rounds.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "results/run_record.h"
#include "results/sample_runs.h"
#include "system/temporary_folder.h"

namespace rnnlab::testing {

// How slow the machine was in each round.
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
