// SPDX-License-Identifier: Apache-2.0
// The result of loading any data source: two sets of samples, training and validation, and the metadata that a model
// needs. Tensors are on the CPU, contiguous, without Inf, and without NaN except for missing targets; inputs may stay
// in a file (mapped_inputs.h). It also has the order in which samples are visited. This header does not depend on
// settings or devices.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config/enum_names.h"
#include "base/fields.h"
#include "data/scaling.h"

namespace rnnlab {

enum class Task { kClassification, kBinary, kRegression, kLanguageModel };

class MappedInputs;

// N sequences of T steps. A missing target is NaN, or the class -1. It has no part in losses, metrics and baselines.
struct Samples {
  at::Tensor inputs;   // (N, T, F) float32, or (N, T) int64 tokens for a language model; undefined if they are mapped
  at::Tensor targets;  // (N) int64 classes | (N, K) float32; of each step: (N, T) int64 | (N, T, K) float32
  at::Tensor lengths;  // (N) int64, from 1 to T, or undefined when every sequence is whole
  std::shared_ptr<const MappedInputs> mapped = {};  // inputs (N, T, F) that stay in their file
  at::Tensor target_bases = {};  // (N, K) float64: targets are relative to these values; undefined if they are values
  at::Tensor target_units = {};  // (N, K) float64: and in these units; undefined if they are in the file's

  int64_t size() const;
  int64_t sequence_length() const;               // T
  int64_t num_features() const;                  // F; 0 for tokens
  int64_t length(int64_t sample) const;          // its steps
  int64_t num_steps() const;                     // of all sequences, without those beyond lengths
  std::span<const int64_t> all_lengths() const;  // empty when every sequence is whole
  int64_t bytes() const;                         // in memory: mapped inputs do not count
};

// Calls visit(sample, values) with the inputs (T, F) float32 of each sample, in order; T x F values.
void visit_inputs(const Samples& samples, const std::function<void(int64_t, std::span<const float>)>& visit);

// Returns the inputs of `count` samples from `first` on, in memory: (count, T, F) float32, or (count, T) int64 tokens.
at::Tensor inputs_of(const Samples& samples, int64_t first, int64_t count);

// Returns whether each step has a target: such targets have a dimension more than those of whole sequences.
bool has_target_per_step(const at::Tensor& targets);

// Returns the targets of samples one below the other, (M) int64 or (M, K) float32: those of each step of each sample,
// without the steps beyond a sample's length, or those of whole sequences as they are. Missing ones are among them.
at::Tensor target_rows(const Samples& samples);

// Returns a mask of the shape of these targets: true where a target is not missing.
at::Tensor are_known(const at::Tensor& targets);

// Returns (M) int64: the classes of target_rows() without the missing ones.
at::Tensor known_classes(const Samples& samples);

// Returns (N) int64: how many targets each sample has, without missing ones and those beyond its length. Undefined if
// no target is missing: then all have equally many, or as many as their lengths say.
at::Tensor target_counts(const Samples& samples);

// Samples of one step of training, on the device that trains.
struct Batch {
  at::Tensor inputs;              // (T, B, F) float32 or (T, B) int64, contiguous, on the device
  at::Tensor targets;             // as in Samples, with T before B, contiguous, on the device
  at::Tensor lengths;             // (B) int64 on the CPU, or undefined
  int64_t size = 0;               // B
  int64_t whole_size = 0;         // samples of the whole batch, of which this is the part of one process (BatchShare)
  int64_t whole_targets = 0;      // numbers or classes that the whole batch has as targets
  at::Tensor target_counts = {};  // (B) int64 on the CPU: the targets of each sample; undefined if none is missing
  at::Tensor target_units = {};   // (B, K) float32 on the device: Samples::target_units

  // Likewise of this part; missing targets, and steps beyond a sequence's length, do not count.
  int64_t num_targets() const;
};

// Returns a mask (B, T) of `num_steps` steps: true where a step is within the length of its sequence. lengths: (B)
// int64.
at::Tensor are_within(const at::Tensor& lengths, int64_t num_steps);

// Returns the steps that are within the lengths, one below the other: (M, ...), in the order of the tensor (T, B, ...)
// or (B, T, ...). lengths: (B) int64 on the CPU, or undefined.
enum class TimeAxis { kFirst, kSecond };
at::Tensor rows_within(const at::Tensor& steps, const at::Tensor& lengths, TimeAxis axis);

// Where a step has the phases of the calendar in the rows to be forecast. A column of them is that of data.calendar,
// but of a row that is later by as many rows as the last horizon. So the last steps of a window have the phases of all
// horizons, each at a step of its own; if the horizons are further apart than the steps of the window, a second column
// is later by a window less, and so on.
struct CalendarAhead {
  struct Place {
    int64_t step = 0;
    int64_t number = 0;  // the first of num_phases
  };
  int64_t num_phases = 0;          // numbers for each horizon; 0 without data.calendar_ahead
  int64_t num_numbers = 0;         // of a step, which are behind those of data.known
  std::vector<Place> places = {};  // one a horizon
};

struct DataShape {
  Task task = Task::kClassification;
  int64_t input_size = 0;       // features of a step; the vocabulary size of a language model
  int64_t sequence_length = 0;  // steps; of the longest sequence if lengths vary
  int64_t num_outputs = 0;      // classes, targets or vocabulary
  bool has_lengths = false;
  bool target_per_step = false;  // a sequence model gives an output for each step; a language model always does
  // The last features of a step are categories, each a whole number from 0 to its size - 1; 0 is an unknown value.
  std::vector<int64_t> category_sizes = {};
  int64_t numbers_per_target = 1;  // that the model gives: more than 1 if it forecasts a distribution of each target
  int64_t num_horizons = 1;        // of a forecast; num_outputs counts each, and those of a column are side by side
  // The numbers of a step from `first_ahead` on are the values of `num_ahead` columns in the rows of the horizons,
  // those of a column side by side (data.known).
  int64_t first_ahead = 0;
  int64_t num_ahead = 0;
  CalendarAhead calendar_ahead = {};  // the numbers behind those

  int64_t model_outputs() const { return num_outputs * numbers_per_target; }
  int64_t num_numbers() const { return input_size - static_cast<int64_t>(category_sizes.size()); }
  int64_t known_numbers() const { return num_ahead * num_horizons; }
  int64_t numbers_ahead() const { return known_numbers() + calendar_ahead.num_numbers; }
};

// The values of a column that the training part has: value i is the category i + 1, and 0 is any other value.
struct CategoryColumn {
  std::string name;
  std::vector<std::string> values;  // ascending by their bytes

  RNNLAB_FIELDS(name, values)
};

// The scaling of one feature or target for training: scaled = (value - offset) / scale.
struct ColumnScale {
  std::string name;  // of the column, if it has a name
  double offset = 0;
  double scale = 1;

  RNNLAB_FIELDS(name, offset, scale)
};

// The scales of a series of its own (data.scale_by), or of the whole training part if the name is "".
struct SeriesScales {
  std::string name;
  std::vector<ColumnScale> features;  // those that are scaled so
  std::vector<ColumnScale> targets;

  RNNLAB_FIELDS(name, features, targets)
};

std::vector<int64_t> category_sizes(const std::vector<CategoryColumn>& categories);  // with the unknown value

// Values fitted on the training part. With them, new data are read and scaled in the same way as the training part.
struct FittedData {
  DataShape shape;
  std::vector<std::string> vocabulary;     // a token's text by its number, or the names of the classes; may be empty
  std::vector<ColumnScale> target_scales;  // one a target if targets were scaled, else empty
  Normalization normalization = Normalization::kAutomatic;  // of the inputs; the resolved data.normalize
  std::vector<ColumnScale> feature_scales;  // csv: one a column, in order; else one a feature if the scaling was fitted
  std::map<std::string, double> column_means;   // csv: means of the training part, for missing: mean
  std::vector<CategoryColumn> categories = {};  // csv: those of data.categories, the last features of a step
  // csv: the column whose times were examined, or "" if there was none. Checkpoints of earlier versions have none:
  // their times were not examined, and missing categories not refused.
  std::optional<std::string> time = {};
  std::optional<bool> is_day_first = {};         // csv: how dates such as 01/02/1970 are read; unset: no such dates
  std::vector<SeriesScales> series_scales = {};  // csv: with data.scale_by, first those of the whole training part
};

// Returns scaled targets or outputs (N, K) of these samples as (N, K) float64 in the units of the targets.
at::Tensor in_units_of_targets(const at::Tensor& values, const FittedData& data, const Samples& samples);

// A forecast of the targets of a part that needs no model: a value that the series had before.
struct NaiveForecast {
  std::string name;   // "last value"
  at::Tensor values;  // of the shape and type of the part's targets, and scaled like them
};

struct Dataset : FittedData {
  Samples train;
  Samples valid;
  std::vector<NaiveForecast> naive_forecasts;  // csv with a window: what valid.targets are compared with
  std::vector<double> naive_errors;  // csv with a window: of the training part, see naive_forecasts.h; else empty
  std::vector<std::string> notes;    // sentences about changes to the data while loading
  std::string description;           // one line
  std::string fingerprint;           // SHA-256 of shapes, types and bytes of all tensors, in hexadecimal
};

// The order in which an epoch visits the samples: a pure function of its arguments, equal on every machine, so that a
// run can resume at epoch 7 without stored state. It is not for cryptography. Returns (n) int64 on the CPU: 0 .. n-1,
// shuffled by Fisher and Yates' method (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P) on SplitMix64
// (Steele, Lea, Flood 2014). Every order is equally likely, as far as 64 bits of seed allow.
at::Tensor permutation(int64_t n, uint64_t seed, int64_t epoch);

Samples take(const Samples& samples, const std::vector<int64_t>& rows);

// Returns the first `count` samples; all if it is not set. Throws UserError kData if there are fewer; `key` is the
// setting.
Samples take_first(const Samples& samples, std::optional<int64_t> count, const std::string& key,
                   const std::string& origin);

// The fingerprint identifies the content of a data set: two runs used the same data exactly if their fingerprints are
// equal. The path and the name of the data do not affect it.
// Returns the SHA-256 over shapes, types and bytes of all tensors of both parts, as 64 hexadecimal digits.
std::string fingerprint(const Samples& train, const Samples& valid);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Task> {
  static constexpr std::array<std::pair<rnnlab::Task, std::string_view>, 4> kNames = {{
      {rnnlab::Task::kClassification, "classification"},
      {rnnlab::Task::kBinary, "binary"},
      {rnnlab::Task::kRegression, "regression"},
      {rnnlab::Task::kLanguageModel, "language_model"},
  }};
};
