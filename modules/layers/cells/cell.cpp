// SPDX-License-Identifier: Apache-2.0
#include "layers/cells/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {

#define RNNLAB_CELL(enumerator, name) const CellInfo& name##_cell();
#include "layers/cells/cell_list.inc"

namespace {

// The cells that users made from equations. Records stay where they are, because layers refer to them.
class OwnCells {
 public:
  static OwnCells& instance() {
    static OwnCells cells;
    return cells;
  }

  Cell add(const CellText& text, const std::string& hash) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = number_of_.emplace(hash, infos_.size());
    if (is_new) infos_.push_back(std::make_unique<const OwnCell>(text, hash));
    return static_cast<Cell>(kFirst + static_cast<int>(found->second));
  }

  struct OwnCell {
    OwnCell(const CellText& text, const std::string& hash)
        : info{.description = "equations of your own", .states = {"hidden"}, .text = text},
          name("own cell " + hash.substr(0, 8)) {
      for (size_t i = 1; i < info.text.states.size(); ++i) info.states.emplace_back(info.text.states[i]);
      if (text.has_heads) info.options.push_back(RecurrentOption::kHeads);
    }
    CellInfo info;
    std::string name;
  };

  // Returns null for a cell of the list.
  const OwnCell* find(Cell cell) const {
    const int number = static_cast<int>(cell) - kFirst;
    if (number < 0) return nullptr;
    const std::lock_guard lock(mutex_);
    RNNLAB_INVARIANT(static_cast<size_t>(number) < infos_.size(), "no cell has this number");
    return infos_[static_cast<size_t>(number)].get();
  }

 private:
  static constexpr int kFirst = 1000;
  mutable std::mutex mutex_;
  std::map<std::string, size_t> number_of_;  // by hash
  std::vector<std::unique_ptr<const OwnCell>> infos_;
};

}  // namespace

std::optional<Cell> own_cell(const CellText& text) {
  const ParsedCell parsed = parse_cell(text);
  if (!parsed.mistakes.empty()) return std::nullopt;
  const std::string& hash = parsed.program.hash;
  for (const Cell cell : all_cells())
    if (program_of(cell).hash == hash) return cell;
  return OwnCells::instance().add(text, hash);
}

bool is_own(Cell cell) { return OwnCells::instance().find(cell) != nullptr; }

std::string cell_name(Cell cell) {
  const auto* own = OwnCells::instance().find(cell);
  return own != nullptr ? own->name : std::string(config::name_of(cell));
}

const CellInfo& info_of(Cell cell) {
  if (const auto* own = OwnCells::instance().find(cell)) return own->info;
  switch (cell) {
#define RNNLAB_CELL(enumerator, name) \
  case Cell::enumerator:              \
    return name##_cell();
#include "layers/cells/cell_list.inc"
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "info_of does not know the cell");
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames) cells.push_back(cell);
  return cells;
}

int64_t num_gates(Cell cell) { return std::ssize(info_of(cell).text.gates); }

bool has_cell_state(Cell cell) { return info_of(cell).states.size() > 1; }

LibraryCell library_cell(Cell cell) {
  const std::optional<LibraryCell> library = info_of(cell).library;
  RNNLAB_INVARIANT(library.has_value(), fmt::format("libraries do not have cell: {}", cell_name(cell)));
  return *library;
}

namespace {

void replace_all(std::string& text, std::string_view word, std::string_view by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

std::string_view reset_product(ResetGate reset_gate) {
  switch (reset_gate) {
    case ResetGate::kAfter:
      return "r * h.n";
    case ResetGate::kBefore:
      return "h.n(r * h)";
  }
  fail_invariant("a listed reset gate", __FILE__, __LINE__, "reset_product does not know the reset gate");
}

std::string_view candidate(Candidate form) {
  switch (form) {
    case Candidate::kPositive:
      return "where(x.n >= 0, x.n + 0.5, sigmoid(x.n))";
    case Candidate::kLinear:
      return "x.n";
  }
  fail_invariant("a listed candidate", __FILE__, __LINE__, "candidate does not know the form");
}

// Sources are indented, and files of equations need not be.
std::string without_indentation(const std::string& text) {
  std::string lines;
  for (const std::string& line : split(text, '\n'))
    if (!trim(line).empty()) lines += std::string(trim(line)) + "\n";
  return lines;
}

}  // namespace

CellText text_of(const RecurrentOptions& options) {
  CellText text = info_of(options.cell).text;
  if (is_own(options.cell)) return text;
  replace_all(text.equations, "ACTIVATION", config::name_of(options.activation));
  replace_all(text.equations, "RESET_PRODUCT", reset_product(options.reset_gate));
  replace_all(text.equations, "CANDIDATE", candidate(options.candidate));
  text.equations = without_indentation(text.equations);
  return text;
}

const CellProgram& program_of(const RecurrentOptions& options) {
  using Key = std::tuple<Cell, ResetGate, Activation, Candidate>;
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<const CellProgram>> known;
  const std::lock_guard lock(mutex);
  auto& program = known[{options.cell, options.reset_gate, options.activation, options.candidate}];
  if (program == nullptr) program = std::make_unique<const CellProgram>(program_of(text_of(options)));
  return *program;
}

const CellProgram& program_of(Cell cell) { return program_of(RecurrentOptions{.cell = cell}); }

std::vector<ParameterSpec> cell_parameters(const RecurrentOptions& options, int64_t num_inputs) {
  const CellProgram& program = program_of(options);
  const int64_t size = options.hidden_size;
  const int64_t input_rows = program.num_input_gates() * size, hidden_rows = program.num_hidden_gates() * size;
  std::vector<ParameterSpec> specs;
  if (input_rows > 0) specs.push_back({"weight_ih", {input_rows, num_inputs}});
  if (hidden_rows > 0) specs.push_back({"weight_hh", {hidden_rows, size / options.heads}});
  if (program.has_input_biases()) specs.push_back({"bias_ih", {input_rows}});
  if (program.has_hidden_biases()) specs.push_back({"bias_hh", {hidden_rows}});
  for (const LearnedVector& vector : program.vectors) specs.push_back({vector.name, {vector.num_rows() * size}});
  return specs;
}

namespace {

bool reads(Cell cell, RecurrentOption option) { return std::ranges::count(info_of(cell).options, option) > 0; }

std::vector<std::string> names_of_cells_with(RecurrentOption option) {
  std::vector<std::string> names;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    if (reads(cell, option)) names.emplace_back(name);
  return names;
}

void set_values(UsedOption& used, auto value, auto /*usual*/) { used.value = fmt::format("{}", value); }
template <config::NamedEnum Value>
void set_values(UsedOption& used, Value value, Value usual) {
  used.value = config::name_of(value);
  used.usual = config::name_of(usual);
}

// These functions return values that an option has besides the usual one.
std::vector<bool> other_values(bool usual) { return {!usual}; }
std::vector<int64_t> other_values(int64_t usual) { return {usual + 1}; }
std::vector<double> other_values(double usual) { return {usual + 0.5}; }
template <config::NamedEnum Value>
std::vector<Value> other_values(Value usual) {
  std::vector<Value> others;
  for (const auto& [value, name] : config::EnumNames<Value>::kNames)
    if (value != usual) others.push_back(value);
  return others;
}

}  // namespace

std::vector<UsedOption> used_options(const RecurrentOptions& options) {
  std::vector<UsedOption> all;
  // This names every member: one that is not in the list does not compile, because each layer would accept it.
#define RNNLAB_OPTION(enumerator, name, type, usual) name,
  [[maybe_unused]] const auto& [cell, input_size, hidden_size,
#include "layers/option_list.inc"
                                batch_first, cudnn_algorithm, persistent_form] = options;
  const auto add = [&](const UsedOption& used, auto value, auto usual) {
    if (value != usual) set_values(all.emplace_back(used), value, usual);
  };
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be in parentheses.
#define RNNLAB_OPTION(enumerator, name, type, usual) add({RecurrentOption::enumerator, #name}, name, type{usual});
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  add({RecurrentOption::enumerator, #name, noun}, name, type{usual});
#include "layers/option_list.inc"
  return all;
}

std::vector<RecurrentOptions> unusual_options(Cell cell) {
  std::vector<RecurrentOptions> all;
#define RNNLAB_OPTION(enumerator, name, type, usual)                    \
  for (const type value : other_values(type{usual})) {                  \
    all.push_back({.cell = cell, .input_size = 64, .hidden_size = 64}); \
    all.back().name = value;                                            \
  }
#include "layers/option_list.inc"
  std::erase_if(all, [](const RecurrentOptions& options) { return !contradictions(options).empty(); });
  return all;
}

RecurrentOptions with_only(RecurrentOption option, const RecurrentOptions& options) {
  RecurrentOptions one = {.cell = options.cell, .input_size = options.input_size, .hidden_size = options.hidden_size};
#define RNNLAB_OPTION(enumerator, name, type, usual) \
  if (option == RecurrentOption::enumerator) one.name = options.name;
#include "layers/option_list.inc"
  return one;
}

// NOLINTEND(bugprone-macro-parentheses)

// An option is a word in capitals in the equations, unless it decides how products are divided.
bool changes_equations(Cell cell, RecurrentOption option) {
  return option != RecurrentOption::kHeads && reads(cell, option);
}

std::string described_cells() {
  std::vector<std::string> lines;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    lines.push_back(fmt::format("{}: {}", name, info_of(cell).description));
  return join(lines, "; ");
}

std::string cells_with(RecurrentOption option) { return join_with_and(names_of_cells_with(option)); }

std::vector<Contradiction> contradictions(const RecurrentOptions& options) {
  std::vector<Contradiction> all;
  for (const UsedOption& one : used_options(options)) {
    if (one.noun.empty() || reads(options.cell, one.option)) continue;
    const std::vector<std::string> cells = names_of_cells_with(one.option);
    all.push_back({{std::string(one.key), "cell"},
                   fmt::format("only {} {} {}", join_with_and(cells), cells.size() == 1 ? "has" : "have", one.noun),
                   fmt::format("{}: {} means nothing with cell: {}; ", one.key, one.value, cell_name(options.cell))});
  }
  if (reads(options.cell, RecurrentOption::kHeads) && options.hidden_size % options.heads != 0)
    all.push_back({{"heads", "hidden_size"},
                   fmt::format("the number of heads must divide hidden_size: {}", options.hidden_size)});
  if (options.num_layers > 1 && program_of(options).num_input_gates() == 0)
    all.push_back({{"num_layers", "cell"},
                   "no gate of the cell reads the input, so that only the top layer would have an effect; use "
                   "num_layers: 1"});
  return all;
}

}  // namespace rnnlab
