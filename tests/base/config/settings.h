// SPDX-License-Identifier: Apache-2.0
// A small experiment with a field of every kind, which the tests of config read and print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.h"

namespace rnnlab::config::testing {

enum class Cell { kLstm, kGru, kRnnTanh };

}  // namespace rnnlab::config::testing

template <>
struct rnnlab::config::EnumNames<rnnlab::config::testing::Cell> {
  using Cell = rnnlab::config::testing::Cell;
  static constexpr std::array<std::pair<Cell, std::string_view>, 3> kNames = {
      {{Cell::kLstm, "lstm"}, {Cell::kGru, "gru"}, {Cell::kRnnTanh, "rnn_tanh"}}};
};

namespace rnnlab::config::testing {

struct Training {
  int64_t epochs = 10;
  int64_t warmup_epochs = 1;
  int64_t batch_size = 128;
  double learning_rate = 1e-3;
  std::optional<double> clip_norm;
  bool deterministic = false;
  std::vector<int64_t> decay_at;
  bool operator==(const Training&) const = default;
  static const Schema<Training>& schema();
};

struct Model {
  Cell cell = Cell::kLstm;
  int64_t hidden_size = 64;
  bool bidirectional = false;
  std::string kind = "classifier";
  bool operator==(const Model&) const = default;
  static const Schema<Model>& schema();
};

struct Experiment {
  std::string name = "experiment";
  std::string device = "auto";
  int seed = 1;
  std::vector<std::string> features = {"x"};
  std::vector<double> weights;
  std::vector<Cell> cells;
  std::optional<int64_t> limit = 5;
  Model model;
  Training training;
  bool operator==(const Experiment&) const = default;
  static const Schema<Experiment>& schema();
};

// Returns the messages about a file "exp.yaml" with this text, read with these overrides.
std::vector<std::string> complaints(const std::string& text, const std::vector<std::string>& overrides = {});

// Returns the experiment in this file. A message about the file fails the test.
Experiment accepted(const std::string& text, const std::vector<std::string>& overrides = {});

}  // namespace rnnlab::config::testing
