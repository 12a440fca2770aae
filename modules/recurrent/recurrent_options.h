// What a recurrent layer computes, with the names that experiment files use. Plain values without LibTorch, so that
// configuration can check them early; layer_kind.h says how it can be computed, recurrent_layer.h makes the layer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/enum_names.h"

namespace rnnlab {

enum class Cell { kLstm, kGru, kRnnTanh, kRnnRelu };

// Where a GRU applies its reset gate: after the recurrent product (cuDNN's form), or to the state before it (the
// original form). Equal in cost, different functions.
enum class ResetGate { kAfter, kBefore };

// The non-linearity of an LSTM's cell input and cell output and of a GRU's candidate. The gates are always sigmoid.
enum class Activation { kTanh, kRelu };

// How cuDNN computes a layer when it is called directly (layer: cudnn). kAuto: the fastest, measured once for a shape.
enum class CudnnAlgorithm { kAuto, kStandard, kPersistStatic, kPersistDynamic, kSmallHidden };

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
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;  // how, not what; for layer: cudnn

  int64_t num_directions() const { return bidirectional ? 2 : 1; }
};

// Rows of the weights in units of hidden_size: 4 for LSTM (i, f, g, o), 3 for GRU (r, z, n), 1 for the plain cells.
constexpr int64_t num_gates(Cell cell) {
  if (cell == Cell::kLstm) return 4;
  return cell == Cell::kGru ? 3 : 1;
}

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
struct EnumNames<CudnnAlgorithm> {
  static constexpr std::array<std::pair<CudnnAlgorithm, std::string_view>, 5> kNames = {{
      {CudnnAlgorithm::kAuto, "auto"},
      {CudnnAlgorithm::kStandard, "standard"},
      {CudnnAlgorithm::kPersistStatic, "persist_static"},
      {CudnnAlgorithm::kPersistDynamic, "persist_dynamic"},
      {CudnnAlgorithm::kSmallHidden, "small_hidden"},
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
