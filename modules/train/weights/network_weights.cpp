// SPDX-License-Identifier: Apache-2.0
#include "train/weights/network_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <concepts>
#include <iterator>

#include "base/system/json_fields.h"
#include "base/text.h"
#include "layers/cells/cell.h"

namespace rnnlab {

at::Tensor reordered(const at::Tensor& rows, const std::vector<int64_t>& order) {
  const std::vector<at::Tensor> blocks = rows.chunk(static_cast<int64_t>(order.size()), 0);
  std::vector<at::Tensor> ordered;
  for (const int64_t index : order) ordered.push_back(blocks[static_cast<size_t>(index)]);
  return at::cat(ordered, 0);
}

DirectionWeights reordered(const DirectionWeights& weights, const std::vector<int64_t>& order) {
  return {reordered(weights.weight_ih, order), reordered(weights.weight_hh, order), reordered(weights.bias_ih, order),
          reordered(weights.bias_hh, order)};
}

DirectionWeights stacked(const DirectionWeights& first, const DirectionWeights& second) {
  return {at::cat({first.weight_ih, second.weight_ih}), at::cat({first.weight_hh, second.weight_hh}),
          at::cat({first.bias_ih, second.bias_ih}), at::cat({first.bias_hh, second.bias_hh})};
}

DirectionWeights rows_of(const DirectionWeights& weights, int64_t from, int64_t num_rows) {
  const auto rows = [&](const at::Tensor& tensor) { return tensor.narrow(0, from, num_rows); };
  return {rows(weights.weight_ih), rows(weights.weight_hh), rows(weights.bias_ih), rows(weights.bias_hh)};
}

at::Tensor half(const at::Tensor& bias) { return bias * 0.5; }

namespace {

constexpr const char* kCellKey = "rnnlab.cell";
constexpr const char* kProgramKey = "rnnlab.program";  // the hash of a cell of the user's own
constexpr const char* kResetGateKey = "rnnlab.reset_gate";
constexpr const char* kTiedKey = "rnnlab.tied";
constexpr const char* kCategoriesKey = "rnnlab.categories";

template <config::NamedEnum E>
std::optional<E> read_entry(const TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return std::nullopt;
  if (const auto value = config::from_name<E>(found->second)) return value;
  throw_checkpoint_error("{}: metadata {}: got {}, expected {}", file.name, key, in_quotes(found->second),
                         join_with_or(config::names_of<E>()));
}

template <config::NamedEnum E>
void add_entry(TensorMetadata& metadata, const char* key, const std::optional<E>& value) {
  if (value) metadata[key] = config::name_of(*value);
}

// Of a number, which the sizes of the tensors show.
template <std::integral T>
std::optional<T> read_entry(const TensorFile& /*file*/, const char* /*key*/) {
  return std::nullopt;
}
template <std::integral T>
void add_entry(TensorMetadata& /*metadata*/, const char* /*key*/, const std::optional<T>& /*value*/) {}

std::string_view value_text(config::NamedEnum auto value) { return config::name_of(value); }
std::string value_text(std::integral auto value) { return std::to_string(value); }

template <class T>
void require_same(const char* setting, const std::optional<T>& known, T wanted, const std::string& file) {
  if (!known || *known == wanted) return;
  throw_checkpoint_error(
      "{0}: its weights are for model.{1}: {2}, and the model has {3}; with {3} they would compute a different "
      "function: "
      "set model.{1}={2}",
      file, setting, value_text(*known), value_text(wanted));
}

void require_same_program(const std::string& known, const RecurrentOptions& options, const std::string& file) {
  if (known.empty() || known == program_of(options).hash) return;
  throw_checkpoint_error(
      "{}: its weights are for a cell of the user's own with the program {}, and model.cell is {} with the program {}; "
      "with other equations they would compute a different function",
      file, known.substr(0, 8), cell_name(options.cell), program_of(options).hash.substr(0, 8));
}

template <class E>
[[noreturn]] void refuse_contradiction(const TensorFile& file, const char* key, E said, std::string_view found) {
  throw_checkpoint_error("{}: metadata {}: got {}, but the tensors are those of {}", file.name, key,
                         config::name_of(said), found);
}

// The plain cells have the same weights.
bool is_plain(Cell cell) { return info_of(cell).library && num_gates(cell) == 1; }

// Returns whether both are the cell of the same tensors, as far as their names and number of rows show it.
bool has_tensors_of(Cell known, Cell found) {
  return num_gates(known) == num_gates(found) &&
         info_of(known).library.has_value() == info_of(found).library.has_value();
}

std::string cell_in_words(Cell cell) { return is_plain(cell) ? "a plain cell" : cell_name(cell); }

// Layouts of libraries are read for conversion and for a model of a library's cell.
void require_library_cell(const std::optional<Cell>& cell, const TensorFile& file) {
  if (!cell || info_of(*cell).library) return;
  throw_checkpoint_error("{}: metadata {}: {} is a cell of rnnlab that no library's layout has; use the file as it is",
                         file.name, kCellKey, cell_name(*cell));
}

std::vector<CategoryColumn> categories_of(const TensorFile& file) {
  std::vector<CategoryColumn> categories;
  const auto found = file.metadata.find(kCategoriesKey);
  if (found == file.metadata.end()) return categories;
  const std::string place = fmt::format("{}: metadata {}", file.name, kCategoriesKey);
  with_checkpoint_errors([&] {
    const Json json = parse_json(found->second, place);
    from_json(JsonPlace{json, place, ""}, categories);
  });
  return categories;
}

}  // namespace

LayoutMetadata function_of(const RecurrentOptions& options) {
  LayoutMetadata function;
  if (is_own(options.cell))
    function.program = program_of(options).hash;
  else
    function.cell = options.cell;
  const std::vector<RecurrentOption>& read = info_of(options.cell).options;
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  if (std::ranges::find(read, RecurrentOption::enumerator) != read.end()) function.name = options.name;
#include "layers/option_list.inc"
  return function;
}

LayoutMetadata stated_in(const TensorFile& file) {
  const auto program = file.metadata.find(kProgramKey);
  LayoutMetadata stated{.cell = read_entry<Cell>(file, kCellKey),
                        .is_tied = file.metadata.contains(kTiedKey),
                        .categories = categories_of(file),
                        .program = program == file.metadata.end() ? "" : program->second};
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  stated.name = read_entry<type>(file, "rnnlab." #name);
#include "layers/option_list.inc"
  return stated;
}

TensorMetadata to_entries(const LayoutMetadata& metadata) {
  TensorMetadata entries;
  add_entry(entries, kCellKey, metadata.cell);
  if (!metadata.program.empty()) entries[kProgramKey] = metadata.program;
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  add_entry(entries, "rnnlab." #name, metadata.name);
#include "layers/option_list.inc"
  if (metadata.is_tied) entries[kTiedKey] = "true";
  if (!metadata.categories.empty()) entries[kCategoriesKey] = to_json(metadata.categories).dump();
  return entries;
}

void require_same_function(const LayoutMetadata& metadata, const RecurrentOptions& options, const std::string& file) {
  require_same_program(metadata.program, options, file);
  if (!is_own(options.cell)) require_same("cell", metadata.cell, options.cell, file);
  if (is_own(options.cell) && metadata.cell)
    throw_checkpoint_error("{}: its weights are for model.cell: {}, and the model has equations of another cell ({})",
                           file, cell_name(*metadata.cell), cell_name(options.cell));
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  require_same(#name, metadata.name, options.name, file);
#include "layers/option_list.inc"
}

namespace {

std::string quoted_names(const std::vector<CategoryColumn>& categories) {
  std::vector<std::string> names;
  for (const CategoryColumn& column : categories) names.push_back(in_quotes(column.name));
  return names.empty() ? "no column" : join(names, ", ");
}

// Adds the first of the values that `others` lacks. Both are ascending.
void add_first_only_in(const char* where, const std::vector<std::string>& values,
                       const std::vector<std::string>& others, std::vector<std::string>& differences) {
  std::vector<std::string> only;
  std::ranges::set_difference(values, others, std::back_inserter(only));
  if (!only.empty()) differences.push_back(fmt::format("{} is only in the {}", in_quotes(only.front()), where));
}

std::string difference_of(const std::vector<std::string>& in_file, const std::vector<std::string>& in_data) {
  std::vector<std::string> differences;
  add_first_only_in("file", in_file, in_data, differences);
  add_first_only_in("data", in_data, in_file, differences);
  return differences.empty() ? "their order differs" : join_with_and(differences);
}

}  // namespace

void require_same_categories(const TensorFile& file, const std::vector<CategoryColumn>& categories) {
  const std::vector<CategoryColumn> known = categories_of(file);
  if (known.empty()) return;
  if (!std::ranges::equal(known, categories, {}, &CategoryColumn::name, &CategoryColumn::name))
    throw_checkpoint_error(
        "{}: its vectors of categories are for {}, and data.categories names {}: name the same "
        "columns in the same order, or use a file of the recurrent layers alone (rnnlab convert "
        "--part recurrent)",
        file.name, quoted_names(known), quoted_names(categories));
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].values == categories[i].values) continue;
    throw_checkpoint_error(
        "{}: its vectors of column {} are for other values than those of the training part: {}; "
        "train on data with the same values, or use a file of the recurrent layers alone (rnnlab "
        "convert --part recurrent)",
        file.name, in_quotes(known[i].name), difference_of(known[i].values, categories[i].values));
  }
}

NetworkWeights start_network(const TensorFile& file) {
  NetworkWeights network{.options = {}, .metadata = stated_in(file), .recurrent = {}, .embedding = {}, .dense = {}};
  require_library_cell(network.metadata.cell, file);
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  network.options.name = network.metadata.name.value_or(usual);
#include "layers/option_list.inc"
  return network;
}

void set_cell(NetworkWeights& network, Cell cell, const TensorFile& file) {
  std::optional<Cell>& known = network.metadata.cell;
  if (known && !has_tensors_of(*known, cell)) refuse_contradiction(file, kCellKey, *known, cell_in_words(cell));
  if (!known && !is_plain(cell)) known = cell;
  network.options.cell = known.value_or(cell);
}

void set_reset_gate(NetworkWeights& network, ResetGate reset_gate, const TensorFile& file) {
  std::optional<ResetGate>& known = network.metadata.reset_gate;
  if (known && *known != reset_gate) refuse_contradiction(file, kResetGateKey, *known, config::name_of(reset_gate));
  network.options.reset_gate = known.emplace(reset_gate);
}

}  // namespace rnnlab
