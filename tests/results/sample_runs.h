// Run folders as a training run leaves them, for tests of what reads them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/environment.h"
#include "results/summary.h"

namespace rnnlab::testing {

// A run on a quiet machine with a release build, trained by a process of its own. Change what a test is about, then
// write.
struct SampleRun {
  std::string config;
  Environment environment;
  Summary summary;
  std::vector<double> train_seconds;
  bool first_is_warmup = true;
  double num_samples = 120000;  // of an epoch
  double train_loss = 0.5;

  void write(const std::filesystem::path& folder) const;
};

SampleRun sample_run(const std::string& device, const std::string& layer, int64_t seed,
                     const std::vector<double>& train_seconds);

// The first digits of the hashes of every sample run whose settings are left as they are, as messages show them.
std::string sample_model_hash();
std::string sample_training_hash();

}  // namespace rnnlab::testing
