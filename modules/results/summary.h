// SPDX-License-Identifier: Apache-2.0
// Defines summary.json, a small file with the result of a run: how it ended, its final metrics, its epoch time, the
// execution path, and everything that must be equal if its time is compared with another run's time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
#include "base/fields.h"
#include "base/system/files.h"
#include "base/system/warning.h"
#include "results/conditions.h"
#include "results/epoch_row.h"
#include "results/quality.h"

namespace rnnlab {

// Contains what two runs must share before their times are compared. Hashes can only be compared for equality.
struct Identity {
  std::string data_fingerprint;
  int64_t batch_size = 0;
  std::string model_hash;              // of the model's settings (work_settings.h), without the layer implementation
  std::string initial_weights_sha256;  // differs from seed to seed
  std::string order_sha256;   // of the order in which the first epoch takes the samples; differs from seed to seed
  std::string training_hash;  // of the training settings
  std::string placement;      // of the training samples: "device" or "host", never "auto"
  std::string precision;      // "fp32", "tf32", "bf16", "fp16"
  std::string build_type;     // build_kind() of environment.h
  std::string cpu_model;
  int64_t num_threads = 0;
  std::string gpu_model;  // GPU of the machine, even if the run did not use it; "" without a GPU
  Conditions conditions = {};
  std::string cell_sha256 = {};  // of the cell's program, however its equations are written; "" before it was recorded

  RNNLAB_FIELDS(data_fingerprint, batch_size, model_hash, initial_weights_sha256, order_sha256, training_hash,
                placement, precision, build_type, cpu_model, num_threads, gpu_model, since<3>(conditions),
                where_given(cell_sha256))
};

// Describes the training seconds of the epochs after warm-up.
struct EpochTime {
  int64_t num_epochs = 0;
  double median_seconds = 0;
  double low_seconds = 0;  // 95 % interval of the median; the whole range for fewer than six epochs
  double high_seconds = 0;

  RNNLAB_FIELDS(num_epochs, median_seconds, low_seconds, high_seconds)
};

// A run ends as its settings require, or earlier: by a signal, or because its numbers diverged.
enum class RunEnding { kComplete, kInterrupted, kDiverged };

template <>
struct config::EnumNames<RunEnding> {
  static constexpr std::array<std::pair<RunEnding, std::string_view>, 3> kNames = {
      {{RunEnding::kComplete, "complete"},
       {RunEnding::kInterrupted, "interrupted"},
       {RunEnding::kDiverged, "diverged"}}};
};

// Identifies the process that trained the run. Times of one process share properties of the process, such as the
// location of its memory, so intervals are over processes. Runs of one round were measured one after another, with the
// sides in turn.
struct Turn {
  std::string process;      // a random name; "" before version 3, which did not record it
  std::string measurement;  // name of the sweep with all its rounds; "" outside of a sweep
  int64_t round = 0;        // from 1; 0 without repeats
  int64_t position = 0;     // within the round, from 1
  int64_t case_number = 0;  // number in the sweep, from 1, for any drawn order; 0 outside of a sweep

  RNNLAB_FIELDS(process, measurement, round, position, case_number)
};

// The work of a run beside what its devices can do at best, in floating-point operations of products. Both are of all
// devices of the run together.
struct ProductWork {
  double flops_per_sample = 0;       // of a training step: three times those of the forward pass
  double best_flops_per_second = 0;  // of a large product in the run's precision, measured after the training

  RNNLAB_FIELDS(flops_per_sample, best_flops_per_second)
};

struct Summary {
  int64_t schema_version = kFileVersion;
  int64_t version_in_file = kFileVersion;  // version of the file that was read; not written
  std::string name;
  std::string device;  // the device in use, "cpu" or "cuda:0", never "auto"
  std::string layer;
  std::string precision;
  int64_t seed = 0;
  int64_t epochs = 0;  // finished epochs
  RunEnding ending = RunEnding::kComplete;
  std::string stop_reason;                      // in words: "no better valid_loss for 5 epochs"
  std::map<std::string, double> final_metrics;  // by the names of epochs.csv
  std::optional<EpochTime> epoch_time;          // absent when every epoch was warm-up
  double fit_seconds = 0;                       // of all epochs, with validation and observers
  double total_seconds = 0;                     // of the whole run, with loading of data
  std::string path;                     // the execution path: "oneDNN reference", "cuDNN standard", "native loop"
  std::vector<std::string> path_notes;  // why a faster path was not used
  std::vector<Warning> warnings;
  Identity identity;
  Turn turn;
  std::string rows_sha256;                        // epoch_log.h; "" before version 3, and without rows
  std::string settings_sha256;                    // of config.yaml, work_settings.h; "" before version 3
  bool was_resumed = false;                       // then its time includes pauses
  std::string environment_sha256;                 // of environment.json; "" before version 3
  std::optional<bool> has_graphs = std::nullopt;  // its steps were CUDA graphs; nothing if graphs were not requested
  std::vector<Baseline> baselines = {};           // of predictions without a model; empty before they were recorded
  std::optional<TargetRecord> target = std::nullopt;       // of training.stop_at
  std::optional<ProductWork> product_work = std::nullopt;  // not measured after a short fit

  RNNLAB_FIELDS(schema_version, name, device, layer, precision, seed, epochs, stop_reason, final_metrics, epoch_time,
                fit_seconds, total_seconds, path, path_notes, warnings, identity, since<3>(ending), since<3>(turn),
                since<3>(rows_sha256), since<3>(settings_sha256), since<3>(environment_sha256), since<3>(was_resumed),
                where_given(has_graphs), where_given(baselines), where_given(target), where_given(product_work))
};

// Returns the last value of each metric, by column name. An epoch without validation keeps the value of the epoch
// before.
std::map<std::string, double> final_metrics(std::span<const EpochRow> rows);

// Returns train_seconds of the rows that are not warm-up.
std::vector<double> timed_seconds(std::span<const EpochRow> rows);

// Returns the number of samples on which the epoch trained.
double num_samples(const EpochRow& row);

std::optional<EpochTime> epoch_time(std::span<const EpochRow> rows);

// Write and read `run_folder`/summary.json, which has a seal (base/system/json_fields.h). read_summary accepts a broken
// seal, and run_record.h reports it. write_summary throws UserError kDevice. read_summary throws UserError kData with
// the file and the key.
void write_summary(const std::filesystem::path& run_folder, const Summary& summary);
Summary read_summary(const std::filesystem::path& run_folder);

}  // namespace rnnlab
