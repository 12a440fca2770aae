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
#include <type_traits>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
#include "layers/cells/cell.h"
#include "layers/kernels/own_code.h"
#include "layers/recurrent_options.h"

namespace rnnlab {

class RecurrentLayer;  // recurrent_layer.h

enum class LayerKind {
#define RNNLAB_LAYER(enumerator, name) enumerator,
#include "layers/layer_list.inc"
};

// Holds a layer kind and its kind-specific options, which affect speed, never results.
struct LayerChoice {
  LayerKind kind;
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;
  PersistentForm persistent_form = PersistentForm::kAll;

  // A kind converts to a choice with default options.
  LayerChoice(LayerKind layer_kind, CudnnAlgorithm algorithm = CudnnAlgorithm::kAuto)
      : kind(layer_kind), cudnn_algorithm(algorithm) {}
};

enum class Processor { kCpu, kGpu };

// States when `layer: auto` measures a layer: always, or only if no other layer can do the work, because another layer
// has all its optimisations.
enum class AutoUse { kAlways, kIfNoOther };

struct Gpu {
  std::string name;
  kernels::Capability capability;
  bool has_own_kernels = false;  // whether this build has code for it
};

// What a pass may have besides sequences that are whole or end early, and return besides outputs and final states.
enum class PassFeature {
  kStarts,     // states are zero before some steps (segments.h)
  kAllStates,  // the states after each step are results (RecurrentResult::all_states)
};

// What a layer is asked to do. What is not known yet is left out, and is not a reason against a layer.
struct LayerWork {
  std::optional<RecurrentOptions> options = {};
  std::optional<Precision> precision = {};
  std::optional<Processor> processor = {};
  std::optional<Gpu> gpu = {};             // if the processor is a GPU
  std::vector<PassFeature> features = {};  // that a pass uses
};

// Why a layer does not support some work.
struct Refusal {
  std::string message;            // in a layer's record, the rest of one that begins with "layer: NAME "
  std::vector<std::string> keys;  // of an experiment, those that are in conflict

  // Whether the layers that can do the work are to be added to a record's message; otherwise it says what to do.
  enum class Advice { kIsInMessage, kOtherLayers } advice = Advice::kIsInMessage;
};

// Describes a layer by what it supports: it refuses everything else.
struct LayerInfo {
  std::string_view description;  // how it computes, for people
  std::vector<Cell> cells = {};  // that it computes, if it is written for them and has no why_not
  // Options of which it computes other values than the usual ones, besides those that change a cell's equations.
  std::vector<RecurrentOption> options;
  std::vector<Processor> processors;      // on which it runs
  std::string_view other_processor = {};  // the reason why it does not run on the other processor, and an alternative

  // The precisions in which it computes; all four are LibTorch's switches and autocast.
  std::vector<Precision> precisions = {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16};

  std::vector<PassFeature> features = {};  // that its passes may use

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

  // Returns why it does not compute a cell with this program, such as "no gate reads the input"; "" if it does. Such a
  // layer does not list the options that change a cell's equations, because these are other programs. Null: it computes
  // `cells`, and no cell of a user's own.
  std::string (*why_not)(const CellProgram& program) = nullptr;

  // Returns why it does not compute layers of this size and cell, in this precision, on this GPU, as far as they are
  // known. Null if it computes all.
  std::optional<Refusal> (*size_limit)(const RecurrentOptions& options, const LayerWork& work) = nullptr;

  // Returns whether its results are less precise than those of other layers, so that users must ask for it. Null if
  // they never are.
  bool (*is_less_precise)(const RecurrentOptions& options, Precision precision) = nullptr;
};

const LayerInfo& info_of(LayerKind kind);

// Returns the feature as messages name it, such as "starts of sequences within the input".
std::string text_of(PassFeature feature);

// Returns every kind but kAuto, in the order of the list. kAuto is a placeholder: it is resolved to another kind before
// a layer is made.
std::vector<LayerKind> layer_kinds();

bool has_cell(LayerKind kind, Cell cell);
bool has_feature(LayerKind kind, PassFeature feature);

// Returns the cells of the list that the layer computes with the usual values of their options.
std::vector<Cell> cells_of(LayerKind kind);

// Returns whether the record lists the option.
bool has_option(const LayerInfo& layer, const UsedOption& option);

// Returns the one reason to give why `kind` does not support the work, with the values and what to do instead. Returns
// nothing if it supports the work. `auto` supports what at least one layer supports.
std::optional<Refusal> why_unsupported(LayerKind kind, const LayerWork& work);

// Throws UserError kUsage with the message of why_unsupported() if there is one.
void require_supported(LayerKind kind, const LayerWork& work);

// Returns the kinds among which `layer: auto` and Python's "auto" choose: those that support the options and the
// processor and are not less precise there, because a user must ask for these. The kind that is usually the fastest
// comes first.
std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision,
                                  std::optional<Processor> processor);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::LayerKind> {
#define RNNLAB_LAYER(enumerator, name) std::pair<LayerKind, std::string_view>(LayerKind::enumerator, #name),
  static constexpr std::array kNames = {
#include "layers/layer_list.inc"
  };
};
