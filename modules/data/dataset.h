// The result of loading any data source: two sets of samples in memory, training and validation, and the metadata that
// a model needs. Tensors are on the CPU, contiguous, without NaN or Inf. This header does not depend on files or
// devices.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/enum_names.h"

namespace rnnlab {

enum class Task { kClassification, kBinary, kRegression, kLanguageModel };
enum class Normalization { kAutomatic, kNone, kUnit, kStandard, kMinMax, kColumnMinMax };

// N sequences of T steps.
struct Samples {
  at::Tensor inputs;   // (N, T, F) float32, or (N, T) int64 tokens for a language model
  at::Tensor targets;  // (N) int64 classes | (N, K) float32 | (N, T) int64 next tokens
  at::Tensor lengths;  // (N) int64, from 1 to T, or undefined when every sequence is whole

  int64_t size() const { return inputs.defined() ? inputs.size(0) : 0; }
  int64_t bytes() const;
  bool has_target_per_step() const;  // (N, T) int64
};

struct DataShape {
  Task task = Task::kClassification;
  int64_t input_size = 0;       // features of a step; the vocabulary size of a language model
  int64_t sequence_length = 0;  // steps; of the longest sequence if lengths vary
  int64_t num_outputs = 0;      // classes, targets or vocabulary
  bool has_lengths = false;
};

// The scaling of one feature or target for training: scaled = (value - offset) / scale.
struct ColumnScale {
  std::string name;  // of the column, if it has a name
  double offset = 0;
  double scale = 1;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("offset", self.offset);
    field("scale", self.scale);
  }
};

// Values fitted on the training part. With them, new data are read and scaled in the same way as the training part.
struct FittedData {
  DataShape shape;
  std::vector<std::string> vocabulary;     // a token's text by its number, or the names of the classes; may be empty
  std::vector<ColumnScale> target_scales;  // one a target if targets were scaled, else empty
  Normalization normalization = Normalization::kAutomatic;  // of the inputs; the resolved data.normalize
  std::vector<ColumnScale> feature_scales;  // csv: one a column, in order; else one a feature if the scaling was fitted
  std::map<std::string, double> column_means;  // csv: means of the training part, for missing: mean
};

struct Dataset : FittedData {
  Samples train;
  Samples valid;
  std::vector<std::string> notes;  // sentences about changes to the data while loading
  std::string description;         // one line
  std::string fingerprint;         // SHA-256 of shapes, types and bytes of all tensors, in hexadecimal
};

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Normalization> {
  static constexpr std::array<std::pair<rnnlab::Normalization, std::string_view>, 6> kNames = {
      {{rnnlab::Normalization::kAutomatic, "auto"},
       {rnnlab::Normalization::kNone, "none"},
       {rnnlab::Normalization::kUnit, "unit"},
       {rnnlab::Normalization::kStandard, "standard"},
       {rnnlab::Normalization::kMinMax, "minmax"},
       {rnnlab::Normalization::kColumnMinMax, "column_minmax"}}};
};

template <>
struct rnnlab::config::EnumNames<rnnlab::Task> {
  static constexpr std::array<std::pair<rnnlab::Task, std::string_view>, 4> kNames = {{
      {rnnlab::Task::kClassification, "classification"},
      {rnnlab::Task::kBinary, "binary"},
      {rnnlab::Task::kRegression, "regression"},
      {rnnlab::Task::kLanguageModel, "language_model"},
  }};
};

namespace rnnlab {

// The fingerprint identifies the content of a data set: two runs used the same data exactly if their fingerprints are
// equal. The path and the name of the data do not affect it.
// Returns the SHA-256 over shapes, types and bytes of all tensors of both parts, as 64 hexadecimal digits.
std::string fingerprint(const Samples& train, const Samples& valid);

}  // namespace rnnlab
