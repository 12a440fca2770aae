// SPDX-License-Identifier: Apache-2.0
// Defines the record of a recurrent layer: the cells, options, processors and precisions that it supports, what
// `layer: auto` and reports ask about it, and how it is made. Each layer has its record in its own folder, and a line
// in layer_list.inc. Layers differ only in how they compute: all of them give the same results except for rounding.
// Plain values without LibTorch; recurrent_layer.h defines the layers themselves.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/enum_names.h"
#include "recurrent/kernels/own_code.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

class RecurrentLayer;  // recurrent_layer.h
struct Gpu;            // device/gpu_support.h

enum class LayerKind {
#define RNNLAB_LAYER(enumerator, name) enumerator,
#include "recurrent/layer_list.inc"
};

// Holds a layer kind and its kind-specific options, which affect speed, never results.
struct LayerChoice {
  LayerKind kind;
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;

  // A kind converts to a choice with default options.
  LayerChoice(LayerKind layer_kind, CudnnAlgorithm algorithm = CudnnAlgorithm::kAuto)
      : kind(layer_kind), cudnn_algorithm(algorithm) {}
};

enum class Processor { kCpu, kGpu };

// States when `layer: auto` measures a layer: always, or only if no other layer can do the work, because another layer
// has all its optimisations.
enum class AutoUse { kAlways, kIfNoOther };

// Describes a layer. A reason is the rest of a message that begins with "layer: NAME ".
struct LayerInfo {
  std::string_view description;           // how it computes, for people
  std::vector<Cell> cells;                // the cells that it computes
  std::vector<Processor> processors;      // on which it runs
  std::string_view other_processor = {};  // the reason why it does not run on the other processor, and an alternative

  // What it needs of a GPU.
  bool needs_own_kernels = false;               // this build must have code for the GPU
  bool compiles_kernels = false;                // its kernels are compiled when they are first used
  kernels::Capability min_gpu_capability = {};  // the lowest compute capability that it supports

  // What `layer: auto` and reports ask.
  int speed_rank =
      0;  // higher if the layer is usually faster; orders the measurements, and decides between equal times
  AutoUse auto_use = AutoUse::kAlways;
  bool is_optimisation_step = false;  // adds one optimisation to the step before it in the list, as reports show

  // Makes the layer, for options that it supports.
  std::shared_ptr<RecurrentLayer> (*make)(const RecurrentOptions& options) = nullptr;

  // Returns an option of a cell that it computes which it does not support, such as "reset_gate: before (...)". Null if
  // it supports all options.
  std::optional<std::string> (*unsupported_option)(const RecurrentOptions& options) = nullptr;

  // Returns the reason why it does not compute the options in this precision, and an alternative. Null if it supports
  // all precisions.
  std::optional<std::string> (*unsupported_precision)(const RecurrentOptions& options, Precision precision) = nullptr;

  // Returns the reason why it does not compute layers of this size in this precision on this GPU, and an alternative.
  // Null if it supports all sizes that it supports on any GPU.
  std::optional<std::string> (*unsupported_size)(const RecurrentOptions& options, Precision precision,
                                                 const Gpu& gpu) = nullptr;

  // Returns whether its results are less precise than those of other layers, so that users must ask for it. Null if
  // they never are.
  bool (*is_less_precise)(const RecurrentOptions& options, Precision precision) = nullptr;
};

const LayerInfo& info_of(LayerKind kind);

// Returns every kind but kAuto, in the order of the list. kAuto is a placeholder: it is resolved to another kind before
// a layer is made.
std::vector<LayerKind> layer_kinds();

bool has_cell(LayerKind kind, Cell cell);
bool runs_on(LayerKind kind, Processor processor);

// These functions return a whole message: why `kind` does not support something, and what to use instead. They return
// nothing if it is supported.

// The message names the option and the kinds that support it.
std::optional<std::string> unsupported_reason(LayerKind kind, const RecurrentOptions& options);
std::optional<std::string> unsupported_reason(LayerKind kind, Processor processor);
std::optional<std::string> unsupported_reason(LayerKind kind, const RecurrentOptions& options, Precision precision);

// Returns the option of an LSTM or GRU that libraries do not have, for the records of layers that call `library`.
std::optional<std::string> unsupported_by_library(std::string_view library, const RecurrentOptions& options);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::LayerKind> {
#define RNNLAB_LAYER(enumerator, name) std::pair<LayerKind, std::string_view>(LayerKind::enumerator, #name),
  static constexpr std::array kNames = {
#include "recurrent/layer_list.inc"
  };
};
