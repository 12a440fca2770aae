// SPDX-License-Identifier: Apache-2.0
// Defines what a recurrent layer computes, with the names that experiment files use. Plain values without LibTorch, so
// that the configuration can check them early. cells/cell.h defines the cells, layer_kind.h the layers that compute
// them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/config/enum_names.h"
#include "layers/persistent/shared/passes.h"

namespace rnnlab {

// A cell of the list, or a number beyond it for equations of a user (own_cell in cells/cell.h).
enum class Cell {
#define RNNLAB_CELL(enumerator, name) enumerator,
#include "layers/cells/cell_list.inc"
};

// A GRU applies its reset gate after the recurrent product (cuDNN's form), or to the state before the product (the
// original form). Both forms have equal cost, but are different functions.
enum class ResetGate { kAfter, kBefore };

// Selects the non-linearity of an LSTM's cell input and cell output and of a GRU's candidate. The gates are always
// sigmoid.
enum class Activation { kTanh, kRelu };

// Selects the candidate state of minGRU and minLSTM, of a sum x. kPositive: x + 0.5 if x >= 0, sigmoid(x) if not, as in
// the paper's log-space form. kLinear: x, as in the paper's first form.
enum class Candidate { kPositive, kLinear };

// The algorithm of cuDNN if it is called directly (layer: cudnn). kAuto: the fastest, measured once for a shape.
enum class CudnnAlgorithm { kAuto, kStandard, kPersistStatic, kPersistDynamic, kSmallHidden };

// The kernels that `layer: persistent` may take.
using PersistentForm = kernels::PersistentKernels;

// The arithmetic of a whole run (train/loop/precision.h): products of float32 values with all their digits or with
// those of TF32, or values of 16 bits by autocast.
enum class Precision { kFp32, kTf32, kBf16, kFp16 };

// Returns the bytes of an element of inputs and outputs; autocast halves them.
constexpr int64_t element_bytes(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return 4;
    case Precision::kBf16:
    case Precision::kFp16:
      return 2;
  }
  return 0;
}

enum class RecurrentOption {
#define RNNLAB_OPTION(enumerator, name, type, usual) enumerator,
#include "layers/option_list.inc"
};

struct RecurrentOptions {
  Cell cell = Cell::kLstm;
  int64_t input_size = 1;
  int64_t hidden_size = 1;
#define RNNLAB_OPTION(enumerator, name, type, usual) type name = usual;
#include "layers/option_list.inc"

  // Every layer accepts these. Only `cudnn` reads its algorithm, and only `persistent` its form, which affect speed,
  // not results.
  bool batch_first = false;  // (B, T, I) in and (B, T, D * H) out; the states are (L * D, B, H) either way
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;
  PersistentForm persistent_form = PersistentForm::kAll;

  int64_t num_directions() const { return bidirectional ? 2 : 1; }
  bool operator==(const RecurrentOptions&) const = default;
};

}  // namespace rnnlab

namespace rnnlab::config {

template <>
struct EnumNames<Cell> {
#define RNNLAB_CELL(enumerator, name) std::pair<Cell, std::string_view>(Cell::enumerator, #name),
  static constexpr std::array kNames = {
#include "layers/cells/cell_list.inc"
  };
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
struct EnumNames<PersistentForm> {
  static constexpr std::array<std::pair<PersistentForm, std::string_view>, 4> kNames = {{
      {PersistentForm::kAll, "any"},
      {PersistentForm::kBlocks, "block"},
      {PersistentForm::kClusters, "clusters"},
      {PersistentForm::kClustersAndTeams, "teams"},
  }};
};

template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::pair<Precision, std::string_view>, 4> kNames = {
      {{Precision::kFp32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kBf16, "bf16"}, {Precision::kFp16, "fp16"}}};
};

template <>
struct EnumNames<ResetGate> {
  static constexpr std::array<std::pair<ResetGate, std::string_view>, 2> kNames = {{
      {ResetGate::kAfter, "after"},
      {ResetGate::kBefore, "before"},
  }};
};

template <>
struct EnumNames<Candidate> {
  static constexpr std::array<std::pair<Candidate, std::string_view>, 2> kNames = {{
      {Candidate::kPositive, "positive"},
      {Candidate::kLinear, "linear"},
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
