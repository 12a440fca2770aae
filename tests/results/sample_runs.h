// Run folders as a training run leaves them, for tests of their readers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/environment.h"
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

  void write(const std::filesystem::path& folder) const;
};

SampleRun sample_run(const std::string& device, const std::string& layer, int64_t seed,
                     const std::vector<double>& train_seconds);

// Return the first digits of the hashes of sample runs with unchanged settings, as messages show them.
std::string sample_model_hash();
std::string sample_training_hash();

}  // namespace rnnlab::testing
