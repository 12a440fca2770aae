// SPDX-License-Identifier: Apache-2.0
#include "results/sample_runs.h"

#include <fmt/format.h>

#include "base/system/temporary_folder.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/work_settings.h"

namespace rnnlab::testing {
namespace {

Environment sample_environment() {
  Environment environment;
  environment.start_time = "2026-11-21T02:59:51Z";
  environment.command_line = {"rnnlab", "train", "rows.yaml"};
  environment.num_threads = 2;
  environment.cpu.model = "Some CPU";
  environment.cpu.usable_cpus = 2;
  environment.nvidia.gpus.resize(1);
  environment.nvidia.gpus[0].name = "Some GPU";
  environment.build = {.type = "Release",
                       .compiler = "gcc 12.2.0",
                       .optimized = true,
                       .assertions = false,
                       .sanitizer = "",
                       .git_revision = std::string(40, 'a'),
                       .git_dirty = false};
  environment.software = {.rnnlab = "0.1.0", .libtorch = "2.11.0", .cuda = "13.0", .cudnn = "9.19"};
  return environment;
}

Identity sample_identity(int64_t seed) {
  return {.data_fingerprint = "d1",
          .batch_size = 128,
          .model_hash = "",
          .initial_weights_sha256 = fmt::format("w{}", seed),
          .order_sha256 = fmt::format("o{}", seed),
          .training_hash = "",
          .placement = "device",
          .precision = "fp32",
          .build_type = "Release",
          .cpu_model = "Some CPU",
          .num_threads = 2,
          .gpu_model = "Some GPU"};
}

// Hashes that a test has set are kept.
void seal(Summary& summary, const std::filesystem::path& folder, const std::vector<EpochRow>& rows) {
  const Settings settings = config_values(folder / kConfigFile);
  const WorkHashes hashes = work_hashes(settings);
  Identity& identity = summary.identity;
  if (identity.model_hash.empty()) identity.model_hash = hashes.model;
  if (identity.training_hash.empty()) identity.training_hash = hashes.training;
  summary.settings_sha256 = settings_sha256(settings);
  summary.rows_sha256 = rows_sha256(rows);
}

}  // namespace

SampleRun sample_run(const std::string& device, const std::string& layer, int64_t seed,
                     const std::vector<double>& train_seconds) {
  SampleRun run;
  run.config = fmt::format(
      "name: rows\ndevice: {}\nlayer: {}\nseed: {}  # of everything random\nmodel:\n  hidden_size: 128  # units\n"
      "training:\n  batch_size: 128\n",
      device, layer, seed);
  run.environment = sample_environment();
  run.summary.name = "rows";
  run.summary.device = device;
  run.summary.layer = layer;
  run.summary.precision = "fp32";
  run.summary.seed = seed;
  run.summary.epochs = static_cast<int64_t>(train_seconds.size());
  run.summary.stop_reason = "all epochs done";
  run.summary.path = layer == "naive" ? "native loop" : "oneDNN reference";
  run.summary.identity = sample_identity(seed);
  run.train_seconds = train_seconds;
  return run;
}

void SampleRun::write(const std::filesystem::path& folder) const {
  std::vector<EpochRow> rows = sample_rows(train_seconds);
  if (!rows.empty()) rows[0].warmup = first_is_warmup;
  double fit_seconds = 0;
  for (EpochRow& row : rows) {
    fit_seconds += row.train_seconds + row.valid_seconds.value();
    row.train_loss = row.epoch <= summary.epochs ? train_loss : train_loss_of_cut_epoch;
    row.samples_per_second = num_samples / row.train_seconds;
    if (summary.device != "cpu") row.device_seconds = row.train_seconds;
  }
  write_text(folder / kConfigFile, config);
  write_environment(folder, environment);
  EpochLog log(folder);
  for (const EpochRow& row : rows) log.append(row);
  Summary complete = summary;
  if (complete.turn.process.empty()) complete.turn.process = "process of " + folder.filename().string();
  complete.final_metrics = final_metrics(rows);
  complete.epoch_time = epoch_time(rows);
  complete.fit_seconds = complete.total_seconds = fit_seconds;
  seal(complete, folder, rows);
  complete.environment_sha256 = environment_sha256(environment);
  write_summary(folder, complete);
}

}  // namespace rnnlab::testing
