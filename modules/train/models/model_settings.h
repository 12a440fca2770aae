// SPDX-License-Identifier: Apache-2.0
// The settings under `model:`: the network between the data and the loss, and the record of each kind of model. The
// implementation of the recurrent layer (`layer:`) and the numbers of inputs and outputs (from the data) are not part
// of these settings. Plain values without LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
#include "base/config/schema.h"
#include "layers/cells/cell_settings.h"
#include "layers/recurrent_options.h"

namespace rnnlab {

// The implementations of an image model's convolutions. They differ only in the computation: from equal parameters
// every kind gives equal results, up to rounding. Each kind adds one optimisation to the previous kind.
enum class ConvolutionKind {
  kPlain,         // torch.nn's: channels first, and a separate kernel for every operation
  kChannelsLast,  // adjacent channels of a pixel, the fastest format for libraries' kernels
  kFusedPool,     // bias, ReLU and pooling in one own kernel
  kFused,         // on a GPU also the first convolution in its pooling's kernel, if it is pooled
};

RNNLAB_ENUM_NAMES(ConvolutionKind, {kPlain, "plain"}, {kChannelsLast, "channels_last"}, {kFusedPool, "fused_pool"},
                  {kFused, "fused"});

enum class ModelKind {
#define RNNLAB_MODEL(enumerator, name) enumerator,
#include "train/models/model_list.inc"
};

// How a sequence's outputs become one vector: the outputs after its last step, their mean over its steps, or a mean
// with weights that are learned.
enum class Pooling { kLast, kMean, kAttention };
RNNLAB_ENUM_NAMES(Pooling, {kLast, "last"}, {kMean, "mean"}, {kAttention, "attention"});

// pytorch: the distributions of torch.nn. xavier: Glorot and Bengio's uniform kernels and zero biases.
enum class Initialization { kPyTorch, kXavier, kKeras };
RNNLAB_ENUM_NAMES(Initialization, {kPyTorch, "pytorch"}, {kXavier, "xavier"}, {kKeras, "keras"});

struct ModelSettings {
  ModelKind kind = ModelKind::kSequenceClassifier;
  Cell cell = Cell::kLstm;
  CellSettings own_cell = {};  // the map form of `cell`
  int64_t hidden_size = 128;
  int64_t num_layers = 1;
  bool bidirectional = false;
  double dropout = 0.0;
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) type name = usual;
#include "layers/option_list.inc"

  std::vector<int64_t> front;
  int64_t front_kernel_size = 5;
  int64_t front_stride = 1;

  Pooling pooling = Pooling::kLast;
  bool decoder = false;
  double output_dropout = 0.0;
  std::vector<int64_t> dense;
  Activation dense_activation = Activation::kRelu;
  double dense_dropout = 0.0;

  int64_t num_convolutions = 2;

  std::optional<int64_t> embedding_size;
  bool tied = false;

  Initialization initialization = Initialization::kPyTorch;
  std::string initial_weights;

  int64_t effective_embedding_size() const { return embedding_size.value_or(hidden_size); }

  static const config::Schema<ModelSettings>& schema();
};

struct Contradiction;  // layers/cells/cell.h
struct DataShape;      // data/dataset.h

// Returns the length of the vector of a category with this number of values: model.embedding_size, or half of the
// number of values and at most 50.
int64_t category_vector_size(const ModelSettings& settings, int64_t num_values);

// Returns the length of a step's vector that the recurrent layer of a sequence model reads: that of the last
// convolution of `front`; without any, the numbers of the data and the vectors of its categories.
int64_t step_vector_size(const ModelSettings& settings, const DataShape& shape);

// Returns whether cell_of has a cell: the mistakes of equations are reported by the rules of their own settings.
bool has_readable_cell(const ModelSettings& settings);

// Returns the cell of the settings, by its equations or by its name; equations with mistakes count as none.
Cell cell_of(const ModelSettings& settings);

// The recurrent layer's part of the settings, for a layer that reads vectors of `input_size`.
RecurrentOptions recurrent_options(const ModelSettings& settings, int64_t input_size);

class Model;         // train/models/model.h
class ModelGraph;    // train/models/model_graph.h
enum class Task;     // data/dataset.h
struct LayerChoice;  // layers/layer_kind.h

enum class ModelInput { kVectors, kTokens, kImages };

// The record of a kind of model. Each model has a file in this folder with its record, and a line in model_list.inc.
struct ModelInfo {
  std::string_view description;  // a short description for people
  ModelInput input;              // of a step of a sequence, or the whole sample if it is an image
  std::vector<Task> tasks;       // the tasks that it fits; training.loss follows from them

  // The keys of `model:` that it reads, besides the keys that every model reads. A model with the key "cell" has
  // recurrent layers in its module "recurrent"; its first parameters are theirs.
  std::vector<std::string_view> keys;

  // Complains about settings that contradict each other, in addition to the checks of single keys. Null if there are no
  // such settings.
  void (*check)(const ModelSettings& settings, config::Checker& checker) = nullptr;

  // Returns what contradicts the data in settings of a task that the model fits, with the keys of the experiment. Null
  // if nothing does.
  std::vector<Contradiction> (*misfits)(const ModelSettings& settings, const DataShape& shape) = nullptr;

  // Adds the operations and parameters from the inputs to the outputs. The shapes of the parameters are those of the
  // model that `make` makes, in its order except for the recurrent layers.
  void (*draw)(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) = nullptr;

  // Returns the least number of values that a forward pass keeps for its backward pass, for estimates of memory;
  // int64_t's maximum on overflow.
  int64_t (*num_kept_values)(const ModelSettings& settings, const DataShape& shape, int64_t num_steps,
                             int64_t num_samples) = nullptr;

  // Makes the model on the CPU. `convolution` is how convolutions are computed if the model has any.
  std::shared_ptr<Model> (*make)(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                 ConvolutionKind convolution) = nullptr;

  // Returns why a sequence cannot be read in pieces with the state in between (Model::continue_from), or "". If it is
  // null, no model of this kind can do it.
  std::string (*why_not_continued)(const ModelSettings& settings, const DataShape& shape) = nullptr;

  bool reads(std::string_view key) const;
  bool has_recurrent_layers() const { return reads("cell"); }
};

const ModelInfo& info_of(ModelKind kind);

// Returns ModelInfo::misfits of the model.
std::vector<Contradiction> misfits(const ModelSettings& settings, const DataShape& shape);

// Returns the keys of `model:` that describe recurrent layers, and `more` keys.
std::vector<std::string_view> recurrent_keys_and(std::initializer_list<std::string_view> more);

// Returns ModelInfo::num_kept_values of the recurrent layers: the outputs of every layer at every step.
int64_t num_recurrent_values(const ModelSettings& settings, const DataShape& shape, int64_t num_steps,
                             int64_t num_samples);

}  // namespace rnnlab

namespace rnnlab::config {

template <>
struct EnumNames<ModelKind> {
#define RNNLAB_MODEL(enumerator, name) std::pair<ModelKind, std::string_view>(ModelKind::enumerator, #name),
  static constexpr std::array kNames = {
#include "train/models/model_list.inc"
  };
};

}  // namespace rnnlab::config
