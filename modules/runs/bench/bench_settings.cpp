// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "base/config/sweep.h"
#include "base/text.h"
#include "layers/cells/cell_settings.h"
#include "runs/devices.h"

namespace rnnlab {
namespace {

using config::Checker;

bool takes_list(const std::string& key) {
  const config::Entry* entry = BenchSettings::schema().spec().find(key);
  return entry != nullptr && entry->field() != nullptr && entry->field()->arity == config::Arity::kList;
}

std::vector<config::Value> items_of(const config::Value& value) {
  const bool is_cut = value.place.argument > 0 && value.style == config::Value::Style::kPlain;
  if (!is_cut) return {value};
  std::vector<config::Value> items;
  for (const std::string& part : split(value.text, ',')) {
    items.push_back(value);
    items.back().text = trim(part);
  }
  return items;
}

config::Value as_list(const config::Value& value) {
  config::Value list;
  list.kind = config::Value::Kind::kSequence;
  list.place = value.place;
  list.items = items_of(value);
  return list;
}

// Two equal values would give two rows that cannot be distinguished.
void check_repetitions(const config::StructSpec& spec, const BenchSettings& settings, Checker& checker) {
  for (const config::Entry& entry : spec.entries) {
    if (entry.field()->arity != config::Arity::kList) continue;
    const std::vector<config::Scalar> values = entry.field()->get(&settings);
    for (size_t i = 1; i < values.size(); ++i)
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
          values.begin() + static_cast<std::ptrdiff_t>(i))
        checker.complain({entry.key}, fmt::format("item {} is listed twice", i + 1));
  }
}

void check_auto_device(const BenchSettings& settings, Checker& checker) {
  const bool has_auto = std::find(settings.device.begin(), settings.device.end(), "auto") != settings.device.end();
  if (has_auto && settings.device.size() > 1)
    checker.complain({"device"}, "auto cannot be listed with other devices; name the devices, or write only auto");
}

void check_layers(const BenchSettings& settings, Checker& checker) {
  if (std::find(settings.layer.begin(), settings.layer.end(), LayerKind::kAuto) != settings.layer.end())
    checker.complain({"layer"}, "auto works only in experiments; name the layers to time");
}

// Two files of one cell would give two rows that cannot be distinguished.
void check_cells(const BenchSettings& settings, Checker& checker) {
  if (checker.has_finding("cell")) return;
  std::map<std::string, std::string> known;  // by the cell's name in rows
  for (const std::string& text : settings.cell)
    if (const auto [first, is_new] = known.emplace(bench_cell(text).name, text); !is_new && first->second != text)
      checker.complain({"cell"}, fmt::format("{} and {} are the same cell; list one of them", first->second, text));
}

void check_size(const BenchSettings& settings, Checker& checker) {
  constexpr size_t kMostCombinations = 100000;
  size_t count = 1;
  for (const size_t size : grid_sizes(settings)) count = std::min(count * size, kMostCombinations + 1);
  if (count > kMostCombinations)
    checker.complain({"hidden_size", "batch_size", "num_steps", "num_layers"},
                     fmt::format("more than {} combinations", kMostCombinations));
}

bool is_cell_or_file(const std::string& text) { return config::from_name<Cell>(text) || is_cell_file(text); }

std::string cells_in_words() {
  std::vector<std::string> words = config::names_of<Cell>();
  words.emplace_back("a file of equations (.yaml)");
  return join_with_or(words);
}

void list_axes(config::Schema<BenchSettings>& s) {
  constexpr int64_t kMost = 1 << 20;
  s.field("layer", &BenchSettings::layer, "the layers to time; speed-ups are relative to the first")
      .not_empty()
      .advise([](const std::string& text) { return layer_advice(text, "cell"); });
  s.field("device", &BenchSettings::device, "where to run; auto: the first GPU, or the CPU if there is no GPU")
      .not_empty()
      .where("auto, cpu, cuda or cuda:N", is_device_name)
      .advise(device_advice);
  s.field("mode", &BenchSettings::mode,
          "eager: every kernel is started by the program; graph: replayed from a CUDA graph, so that the device is "
          "timed and not the host")
      .not_empty();
  s.field("precision", &BenchSettings::precision, "arithmetic of products, as in an experiment").not_empty();
  s.field("cell", &BenchSettings::cell, "the recurrent cell")
      .not_empty()
      .where(cells_in_words(), is_cell_or_file)
      .advise([](const std::string& text) { return did_you_mean(text, config::names_of<Cell>()); });
  s.field("cudnn_algorithm", &BenchSettings::cudnn_algorithm, "algorithm of layer: cudnn; ignored by other layers")
      .not_empty();
  s.field("persistent_form", &BenchSettings::persistent_form,
          "kernels that layer: persistent may take; any: the fastest of all; ignored by other layers")
      .not_empty();
  s.field("hidden_size", &BenchSettings::hidden_size, "hidden units of a layer").not_empty().at_least(1).at_most(kMost);
  s.field("batch_size", &BenchSettings::batch_size, "sequences in a batch").not_empty().at_least(1).at_most(kMost);
  s.field("num_steps", &BenchSettings::num_steps, "steps of a sequence").not_empty().at_least(1).at_most(kMost);
  s.field("num_layers", &BenchSettings::num_layers, "layers, each on the outputs of the one below")
      .not_empty()
      .at_least(1)
      .at_most(kMost);
  s.field("input_size", &BenchSettings::input_size, "inputs of a step; by default hidden_size")
      .at_least(1)
      .at_most(kMost);
  s.field("bidirectional", &BenchSettings::bidirectional, "a second set of weights reads from the other end");
  s.field("heads", &BenchSettings::heads, "heads of cell: slstm, which divide hidden_size").at_least(1).at_most(kMost);
  s.field("starts", &BenchSettings::starts,
          "probability that the states are zero before a step, as at the first step of an episode")
      .at_least(0)
      .at_most(1);
}

void list_protocol(config::Schema<BenchSettings>& s) {
  s.field("processes", &BenchSettings::processes,
          "number of processes that measure the whole grid, one after the other; an interval over processes needs 3, a "
          "verdict of "
          "--against 5 on both sides")
      .at_least(1)
      .at_most(100);
  s.field("repeats", &BenchSettings::repeats,
          "timed samples of each program in a process; at least 6 for a 95 % interval")
      .at_least(1)
      .at_most(100000);
  s.field("min_seconds", &BenchSettings::min_seconds,
          "take samples until a combination was timed for at least this time")
      .unit("s")
      .at_least(0)
      .at_most(config::kMostCounted);
  s.field("sample_seconds", &BenchSettings::sample_seconds,
          "a sample repeats its program for at least this time, and is the mean")
      .unit("s")
      .above(0)
      .at_most(config::kMostCounted);
  s.field("warmup", &BenchSettings::warmup, "first rounds over all programs that are not counted")
      .at_least(0)
      .at_most(100000);
  s.field("seed", &BenchSettings::seed, "seed of weights, inputs and the order of samples").at_least(0);
  s.field("num_threads", &BenchSettings::num_threads,
          "threads of one operation on the CPU; by default one for each CPU that the process may use")
      .at_least(1)
      .at_most(4096);
}

}  // namespace

const config::Schema<BenchSettings>& BenchSettings::schema() {
  static const config::Schema<BenchSettings> schema = [] {
    config::Schema<BenchSettings> s("What to time");
    s.refuse_sweep();
    list_axes(s);
    list_protocol(s);
    s.check([](const BenchSettings& settings, Checker& checker) {
      check_repetitions(BenchSettings::schema().spec(), settings, checker);
    });
    s.check(check_auto_device);
    s.check(check_layers);
    s.check(check_cells);
    s.check(check_size);
    return s;
  }();
  return schema;
}

config::Document with_lists(const config::Document& document) {
  config::Value root = document.root();
  std::erase_if(root.members, [](const config::Member& member) { return member.key == config::kSweepKey; });
  for (config::Member& member : root.members)
    if (member.value.is_scalar() && takes_list(member.key)) member.value = as_list(member.value);
  return document.with_root(std::move(root));
}

std::vector<std::string> arguments_of(const BenchSettings& settings) {
  std::vector<std::string> arguments;
  for (const config::Entry& entry : BenchSettings::schema().spec().entries) {
    std::vector<std::string> values;
    for (const config::Scalar& value : entry.field()->get(&settings)) values.push_back(config::scalar_text(value));
    if (!values.empty()) arguments.push_back(entry.key + "=" + join(values, ","));
  }
  return arguments;
}

std::vector<LayerChoice> timed_layers(const BenchSettings& settings) {
  std::vector<LayerChoice> layers;
  for (const LayerKind kind : settings.layer) {
    const bool has_forms = kind == LayerKind::kPersistent;
    for (const PersistentForm form : has_forms ? settings.persistent_form : std::vector{PersistentForm::kAll})
      layers.emplace_back(kind).persistent_form = form;
  }
  return layers;
}

namespace {

bool is_former(const config::Value& layer) { return kFormerLayers.contains(layer.text); }
bool is_persistent(const config::Value& layer) { return is_former(layer) || layer.text == "persistent"; }

// Spells layers of earlier versions as forms of persistent, unless the document has forms.
config::Document with_forms(const config::Document& document, config::Findings& findings) {
  config::Value root = document.root();
  config::Member* layer = config::find_member(root, "layer");
  if (layer == nullptr || config::find_member(root, "persistent_form") != nullptr) return document;
  std::vector<config::Value>& layers = layer->value.items;
  if (std::ranges::none_of(layers, is_former)) return document;
  config::Value forms = layer->value;
  std::erase_if(forms.items, std::not_fn(is_persistent));
  for (config::Value& form : forms.items)
    form.text = config::name_of(is_former(form) ? kFormerLayers.at(form.text) : PersistentForm::kAll);
  const auto first = std::ranges::find_if(layers, is_persistent);
  first->text = "persistent";
  layers.erase(std::remove_if(first + 1, layers.end(), is_persistent), layers.end());
  findings.note(layer->key_place,
                fmt::format("layers are now forms of persistent: write layer: {}, persistent_form: {}",
                            config::to_flow(layer->value), config::to_flow(forms)));
  root.members.push_back({"persistent_form", layer->key_place, forms});
  return document.with_root(std::move(root));
}

// A file that an argument names is searched from the current folder.
config::Document with_cell_files(const config::Document& document) {
  config::Value root = document.root();
  if (config::Member* cell = config::find_member(root, "cell"))
    for (config::Value& one : cell->value.items)
      if (is_cell_file(one.text) && one.place.argument == 0)
        one.text = (std::filesystem::path(one.place.source).parent_path() / one.text).string();
  return document.with_root(std::move(root));
}

}  // namespace

BenchSettings read_bench_settings(const config::Document& document, config::Findings& findings) {
  if (const config::Member* sweep = config::find_member(document.root(), config::kSweepKey))
    findings.add(sweep->key_place, "unknown key 'sweep': here every key takes a list, such as hidden_size: [256, 512]");
  // with_lists removes the sweep.
  return config::read(with_cell_files(with_forms(with_lists(document), findings)), BenchSettings::schema(), findings);
}

}  // namespace rnnlab
