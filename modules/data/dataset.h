// What every source of data becomes: two sets of samples in memory, training and validation, and what a model must know
// of them. Tensors lie on the CPU, contiguous, without NaN or Inf. Nothing here knows files or devices.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/enum_names.h"

namespace rnnlab {

enum class Normalization;
struct DataSettings;

enum class Task { kClassification, kBinary, kRegression, kLanguageModel };

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
  int64_t input_size = 0;       // features of a step; the vocabulary of a language model
  int64_t sequence_length = 0;  // steps; of the longest sequence where lengths vary
  int64_t num_outputs = 0;      // classes, targets or vocabulary
  bool has_lengths = false;
};

// How numbers of one kind, a feature's or a target's, were scaled for training: scaled = (value - offset) / scale.
struct ColumnScale {
  std::string name;  // of the column, where it has one
  double offset = 0;
  double scale = 1;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("offset", self.offset);
    field("scale", self.scale);
  }
};

// What the training part decided about how data are read: with it, new data are read as the training part was.
struct FittedData {
  DataShape shape;
  std::vector<std::string> vocabulary;      // a token's text by its number, or the names of the classes; may be empty
  std::vector<ColumnScale> target_scales;   // one a target where targets were scaled, else empty
  Normalization normalization{};            // of the inputs; what data.normalize came to
  std::vector<ColumnScale> feature_scales;  // csv: one a column, in order; else where scaling was fitted, one a feature
  std::map<std::string, double> column_means;  // csv: means of the training part, for missing: mean
};

// What cannot have been fitted to data of these settings, in words; "" where nothing is wrong. For what comes from a
// file.
std::string fault_of(const FittedData& data, const DataSettings& settings);

struct Dataset : FittedData {
  Samples train;
  Samples valid;
  std::vector<std::string> notes;  // what was done to the data on the way, a sentence each
  std::string description;         // one line
  std::string fingerprint;         // SHA-256 of shapes, types and bytes of all tensors, in hexadecimal
};

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

namespace rnnlab {

// A name for the content of a data set: two runs saw the same data exactly when their fingerprints are equal. Where the
// data came from, and what it is called, has no part in it.

// SHA-256 over shapes, types and bytes of all tensors of both parts, as 64 hexadecimal digits.
std::string fingerprint(const Samples& train, const Samples& valid);

}  // namespace rnnlab
