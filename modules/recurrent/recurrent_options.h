// What a recurrent layer computes (RecurrentOptions) and which implementations of it there are (LayerKind), with the
// names that experiment files use. Plain values without LibTorch, so that configuration can check them early;
// recurrent_layer.h turns them into a layer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/enum_names.h"

namespace rnnlab {

enum class Cell { kLstm, kGru, kRnnTanh, kRnnRelu };

// How the layer is computed, never what: every kind gives the same results.
enum class LayerKind { kNaive, kFused };

// Where a GRU applies its reset gate: after the recurrent product (cuDNN's form), or to the state before it (the
// original form). Equal in cost, different functions.
enum class ResetGate { kAfter, kBefore };

// The non-linearity of an LSTM's cell input and cell output and of a GRU's candidate. The gates are always sigmoid.
enum class Activation { kTanh, kRelu };

struct RecurrentOptions {
  Cell cell = Cell::kLstm;
  int64_t input_size = 1;
  int64_t hidden_size = 1;
  int64_t num_layers = 1;
  bool bidirectional = false;
  double dropout = 0.0;      // between layers, in training only; the probability of a zero
  bool batch_first = false;  // (B, T, I) in and (B, T, D * H) out; the states are (L * D, B, H) either way
  ResetGate reset_gate = ResetGate::kAfter;
  Activation activation = Activation::kTanh;

  int64_t num_directions() const { return bidirectional ? 2 : 1; }
};

// Rows of the weights in units of hidden_size: 4 for LSTM (i, f, g, o), 3 for GRU (r, z, n), 1 for the plain cells.
constexpr int64_t num_gates(Cell cell) {
  if (cell == Cell::kLstm) return 4;
  return cell == Cell::kGru ? 3 : 1;
}

// Every kind there is, in the order of config::EnumNames<LayerKind>.
std::vector<LayerKind> layer_kinds();

// Why `kind` cannot compute `options`, naming the option and the kinds that can; nothing where it can. Every kind runs
// float32, float64 and bfloat16, on the CPU and on CUDA.
std::optional<std::string> refusal(LayerKind kind, const RecurrentOptions& options);

}  // namespace rnnlab

namespace rnnlab::config {

template <>
struct EnumNames<Cell> {
  static constexpr std::array<std::pair<Cell, std::string_view>, 4> kNames = {{
      {Cell::kLstm, "lstm"},
      {Cell::kGru, "gru"},
      {Cell::kRnnTanh, "rnn_tanh"},
      {Cell::kRnnRelu, "rnn_relu"},
  }};
};

template <>
struct EnumNames<LayerKind> {
  static constexpr std::array<std::pair<LayerKind, std::string_view>, 2> kNames = {{
      {LayerKind::kNaive, "naive"},
      {LayerKind::kFused, "fused"},
  }};
};

template <>
struct EnumNames<ResetGate> {
  static constexpr std::array<std::pair<ResetGate, std::string_view>, 2> kNames = {{
      {ResetGate::kAfter, "after"},
      {ResetGate::kBefore, "before"},
  }};
};

template <>
struct EnumNames<Activation> {
  static constexpr std::array<std::pair<Activation, std::string_view>, 2> kNames = {{
      {Activation::kTanh, "tanh"},
      {Activation::kRelu, "relu"},
  }};
};

}  // namespace rnnlab::config
