// SPDX-License-Identifier: Apache-2.0
#include "train/models/model_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "layers/cells/cell.h"

namespace rnnlab {

// Returns nullopt if the settings have equations with mistakes.
static std::optional<Cell> readable_cell(const ModelSettings& settings) {
  return settings.own_cell.is_given() ? own_cell(settings.own_cell.text()) : settings.cell;
}

bool has_readable_cell(const ModelSettings& settings) { return readable_cell(settings).has_value(); }

Cell cell_of(const ModelSettings& settings) { return readable_cell(settings).value_or(settings.cell); }

RecurrentOptions recurrent_options(const ModelSettings& settings, int64_t input_size) {
  return {
      .cell = cell_of(settings),
      .input_size = input_size,
      .hidden_size = settings.hidden_size,
#define RNNLAB_OPTION(enumerator, name, type, usual) .name = settings.name,
#include "layers/option_list.inc"
  };
}

namespace {

using Settings = ModelSettings;
using config::Checker;

std::string described_models() {
  std::vector<std::string> lines;
  for (const auto& [kind, name] : config::EnumNames<ModelKind>::kNames)
    lines.push_back(fmt::format("{}: {}", name, info_of(kind).description));
  return join(lines, "; ");
}

template <config::NamedEnum Value>
void list_cell_option(config::Schema<Settings>& s, const char* key, Value Settings::*member, const std::string& help) {
  s.field(key, member, help);
}

void list_cell_option(config::Schema<Settings>& s, const char* key, int64_t Settings::*member,
                      const std::string& help) {
  s.field(key, member, help).unit(key).between(1, 65536);
}

void list_recurrent(config::Schema<Settings>& s) {
  s.field("kind", &Settings::kind, "what the network is for; " + described_models());
  s.field("cell", &Settings::cell,
          "the recurrent cell; " + described_cells() + "; or its equations, or a file of them");
  s.map_form("cell", &Settings::own_cell, CellSettings::schema());
  s.field("hidden_size", &Settings::hidden_size, "units of a recurrent layer, in each direction")
      .unit("units")
      .between(1, 65536);
  s.field("num_layers", &Settings::num_layers, "recurrent layers on top of each other").unit("layers").between(1, 1024);
  s.field("bidirectional", &Settings::bidirectional, "read each sequence in both directions");
  s.field("dropout", &Settings::dropout, "probability of a zero, between recurrent layers").at_least(0.0).below(1.0);
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  list_cell_option(s, #name, &Settings::name, fmt::format("{}: {}", cells_with(RecurrentOption::enumerator), help));
#include "layers/option_list.inc"
}

void list_front(config::Schema<Settings>& s) {
  s.field("front", &Settings::front, "channels of each of the convolutions over time before the recurrent layers")
      .unit("channels")
      .between(1, 65536);
  s.field("front_kernel_size", &Settings::front_kernel_size,
          "steps that each convolution of front reads: a block of front_stride steps, and the steps before it")
      .unit("steps")
      .between(1, 65536);
  s.field("front_stride", &Settings::front_stride,
          "steps from one output of a convolution of front to the next, by which sequences get shorter")
      .unit("steps")
      .between(1, 65536);
}

void list_head(config::Schema<Settings>& s) {
  s.field("pooling", &Settings::pooling,
          "a sequence as one vector: outputs after its last step, their mean over its steps, or a mean whose weights "
          "are learned");
  s.field("decoder", &Settings::decoder,
          "forecasts: a second recurrent network, which starts with the states of the first and gives one horizon at "
          "each step, where it reads the vector of pooling and what data.known and data.calendar say of its row");
  s.field("output_dropout", &Settings::output_dropout,
          "probability of a zero, after the recurrent layers and the pooling")
      .at_least(0.0)
      .below(1.0);
  s.field("dense", &Settings::dense, "sizes of the dense layers before the output layer")
      .unit("units")
      .between(1, 1048576);
  s.field("dense_activation", &Settings::dense_activation, "non-linearity after each of the dense layers");
  s.field("dense_dropout", &Settings::dense_dropout, "probability of a zero, after each of the dense layers")
      .at_least(0.0)
      .below(1.0);
  s.field("num_convolutions", &Settings::num_convolutions, "image classifier: convolutions, in two groups")
      .unit("layers")
      .where("2 or 4", [](int64_t count) { return count == 2 || count == 4; });
  s.field("embedding_size", &Settings::embedding_size,
          "length of the vector of a language model's token, by default hidden_size; or of a value of "
          "data.categories, by default half of the number of values, and at most 50")
      .unit("units")
      .between(1, 65536);
  s.field("tied", &Settings::tied, "language model: the output layer's weights are the embedding's");
  s.field(
      "initialization", &Settings::initialization,
      "initial weights: as torch.nn draws them; xavier: Xavier-uniform kernels and zero biases; keras: as Keras "
      "draws them, with orthogonal recurrent kernels, and 1 as the bias of the forget gate of lstm and lstm_peephole");
  s.field("initial_weights", &Settings::initial_weights,
          "safetensors file with the initial weights, of the whole model or of the recurrent layer only, with the "
          "names of PyTorch, Keras, TensorFlow or xlstm; searched from the current directory, then from the experiment "
          "file's "
          "folder")
      .may_change(config::Change::kOnCompare);
}

void check_recurrent(const Settings& m, Checker& checker) {
  if (!has_readable_cell(m)) return;
  for (const Contradiction& one : contradictions(recurrent_options(m, 1))) checker.complain(one.keys, one.message);
  if (m.dropout > 0.0 && m.num_layers == 1) {
    checker.complain({"dropout", "num_layers"},
                     "dropout applies between recurrent layers, and there is only one: use output_dropout");
  }
}

// The keys that every model reads.
constexpr std::string_view kCommonKeys[] = {"kind", "initialization", "initial_weights"};

// The keys that have no effect without dense layers, so that every model accepts them.
constexpr std::string_view kKeysOfDense[] = {"dense_activation", "dense_dropout"};

std::vector<std::string> models_that_read(std::string_view key) {
  std::vector<std::string> names;
  for (const auto& [kind, name] : config::EnumNames<ModelKind>::kNames)
    if (info_of(kind).reads(key)) names.emplace_back(name);
  return names;
}

// Complains about keys that are set although the model does not read them.
void check_unread_keys(const Settings& m, Checker& checker) {
  const Settings defaults;
  for (const config::Entry& entry : Settings::schema().spec().entries) {
    if (info_of(m.kind).reads(entry.key) || std::ranges::count(kKeysOfDense, entry.key) > 0) continue;
    if (entry.has_defaults(&m, &defaults)) continue;
    const std::vector<std::string> readers = models_that_read(entry.key);
    checker.complain({entry.key, "kind"}, fmt::format("only {} {} {}; remove it", join_with_and(readers),
                                                      readers.size() == 1 ? "reads" : "read", entry.key));
  }
}

void check_dense(const Settings& m, Checker& checker) {
  constexpr size_t kMostLayers = 1024;
  if (m.dense.size() > kMostLayers)
    checker.complain({"dense"}, fmt::format("got {} layers, expected at most {}", m.dense.size(), kMostLayers));
  if (m.dense_dropout > 0.0 && m.dense.empty()) {
    checker.complain({"dense_dropout", "dense"}, "there are no dense layers: remove dense_dropout");
  }
}

void check_keys_of_front(const Settings& m, Checker& checker) {
  const Settings usual;
  if (m.front_kernel_size != usual.front_kernel_size)
    checker.complain({"front_kernel_size", "front"}, "there are no convolutions: remove front_kernel_size");
  if (m.front_stride != usual.front_stride)
    checker.complain({"front_stride", "front"}, "there are no convolutions: remove front_stride");
}

void check_front(const Settings& m, Checker& checker) {
  constexpr size_t kMostConvolutions = 64;
  if (m.front.empty()) return check_keys_of_front(m, checker);
  if (m.front.size() > kMostConvolutions)
    checker.complain({"front"},
                     fmt::format("got {} convolutions, expected at most {}", m.front.size(), kMostConvolutions));
  if (m.front_stride > m.front_kernel_size)
    checker.complain({"front_stride", "front_kernel_size"},
                     fmt::format("front_stride {} is larger than front_kernel_size {}, so that steps would be skipped; "
                                 "use a stride of at most the kernel size",
                                 m.front_stride, m.front_kernel_size));
}

void check_settings(const Settings& m, Checker& checker) {
  const ModelInfo& info = info_of(m.kind);
  check_unread_keys(m, checker);
  if (info.has_recurrent_layers()) check_recurrent(m, checker);
  if (info.reads("dense")) check_dense(m, checker);
  if (info.reads("front")) check_front(m, checker);
  if (info.check != nullptr) info.check(m, checker);
}

config::Schema<Settings> make_schema() {
  config::Schema<Settings> s("The network");
  list_recurrent(s);
  list_front(s);
  list_head(s);
  s.check(check_settings);
  return s;
}

}  // namespace

#define RNNLAB_MODEL(enumerator, name) const ModelInfo& name##_info();
#include "train/models/model_list.inc"

const ModelInfo& info_of(ModelKind kind) {
  switch (kind) {
#define RNNLAB_MODEL(enumerator, name) \
  case ModelKind::enumerator:          \
    return name##_info();
#include "train/models/model_list.inc"
  }
  fail_invariant("a listed model", __FILE__, __LINE__, "info_of does not know the model");
}

std::vector<Contradiction> misfits(const ModelSettings& settings, const DataShape& shape) {
  const ModelInfo& info = info_of(settings.kind);
  return info.misfits == nullptr ? std::vector<Contradiction>() : info.misfits(settings, shape);
}

bool ModelInfo::reads(std::string_view key) const {
  return std::ranges::count(keys, key) > 0 || std::ranges::count(kCommonKeys, key) > 0;
}

std::vector<std::string_view> recurrent_keys_and(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> keys = {
      "cell",
      "hidden_size",
      "output_dropout",
#define RNNLAB_OPTION(enumerator, name, type, usual) #name,
#include "layers/option_list.inc"
  };
  keys.insert(keys.end(), more);
  return keys;
}

int64_t num_recurrent_values(const ModelSettings& settings, const DataShape& /*shape*/, int64_t num_steps,
                             int64_t num_samples) {
  int64_t count = num_steps;
  for (const int64_t factor :
       {num_samples, settings.num_layers, int64_t{settings.bidirectional ? 2 : 1}, settings.hidden_size})
    count = saturating_multiply(count, factor);
  return count;
}

const config::Schema<ModelSettings>& ModelSettings::schema() {
  static const config::Schema<ModelSettings> schema = make_schema();
  return schema;
}

}  // namespace rnnlab
