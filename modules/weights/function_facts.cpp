#include "weights/function_facts.h"

#include "base/text.h"
#include "checkpoint/failure.h"
#include "recurrent/cells/cell.h"
#include "weights/layouts.h"

namespace rnnlab {
namespace {

constexpr const char* kCellKey = "rnnlab.cell";
constexpr const char* kResetGateKey = "rnnlab.reset_gate";
constexpr const char* kActivationKey = "rnnlab.activation";
constexpr const char* kTiedKey = "rnnlab.tied";

template <class E>
std::optional<E> fact_in(const TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return std::nullopt;
  if (const auto value = config::from_name<E>(found->second)) return value;
  refuse_checkpoint("{}: metadata {}: got {}, expected {}", file.name, key, in_quotes(found->second),
                    one_of(config::names_of<E>()));
}

template <class E>
void add_fact(TensorMetadata& metadata, const char* key, const std::optional<E>& fact) {
  if (fact) metadata[key] = config::name_of(*fact);
}

template <class E>
void require_same(const char* setting, const std::optional<E>& known, E wanted, const std::string& file) {
  if (!known || *known == wanted) return;
  refuse_checkpoint(
      "{}: its weights are for model.{}: {}, and the model has {}; with {} they would compute a different function: "
      "set model.{}={}",
      file, setting, config::name_of(*known), config::name_of(wanted), config::name_of(wanted), setting,
      config::name_of(*known));
}

template <class E>
[[noreturn]] void refuse_contradiction(const TensorFile& file, const char* key, E said, std::string_view found) {
  refuse_checkpoint("{}: metadata {}: got {}, but the tensors are those of {}", file.name, key, config::name_of(said),
                    found);
}

// The plain cells have the same weights.
bool is_plain(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return true;
    case LibraryCell::kLstm:
    case LibraryCell::kGru:
      return false;
  }
  return false;
}

std::string_view cell_in_words(Cell cell) { return is_plain(cell) ? "a plain cell" : config::name_of(cell); }

// Layouts of libraries are read for conversion and for a model of a library's cell.
void require_library_cell(const std::optional<Cell>& cell, const TensorFile& file) {
  if (!cell || info_of(*cell).library) return;
  refuse_checkpoint("{}: metadata {}: {} is a cell of rnnlab that no library's layout has; use the file as it is",
                    file.name, kCellKey, config::name_of(*cell));
}

}  // namespace

LayoutMetadata facts_in(const TensorFile& file) {
  return {.cell = fact_in<Cell>(file, kCellKey),
          .reset_gate = fact_in<ResetGate>(file, kResetGateKey),
          .activation = fact_in<Activation>(file, kActivationKey),
          .is_tied = file.metadata.contains(kTiedKey)};
}

TensorMetadata metadata_of(const LayoutMetadata& known, Layout layout) {
  TensorMetadata metadata = {{"rnnlab.layout", std::string(config::name_of(layout))}};
  if (layout == Layout::kPyTorch) metadata["format"] = "pt";
  add_fact(metadata, kCellKey, known.cell);
  add_fact(metadata, kResetGateKey, known.reset_gate);
  add_fact(metadata, kActivationKey, known.activation);
  if (known.is_tied) metadata[kTiedKey] = "true";
  return metadata;
}

void require_same_function(const LayoutMetadata& known, const RecurrentOptions& options, const std::string& file) {
  require_same("cell", known.cell, options.cell, file);
  if (options.cell == Cell::kGru) require_same("reset_gate", known.reset_gate, options.reset_gate, file);
  require_same("activation", known.activation, options.activation, file);
}

NetworkWeights start_network(const TensorFile& file) {
  NetworkWeights network{.options = {}, .known = facts_in(file), .recurrent = {}, .embedding = {}, .dense = {}};
  require_library_cell(network.known.cell, file);
  network.options.reset_gate = network.known.reset_gate.value_or(ResetGate::kAfter);
  network.options.activation = network.known.activation.value_or(Activation::kTanh);
  return network;
}

void settle_cell(NetworkWeights& network, Cell cell, const TensorFile& file) {
  std::optional<Cell>& known = network.known.cell;
  if (known && num_gates(*known) != num_gates(cell)) refuse_contradiction(file, kCellKey, *known, cell_in_words(cell));
  if (!known && !is_plain(cell)) known = cell;
  network.options.cell = known.value_or(cell);
}

void settle_reset_gate(NetworkWeights& network, ResetGate reset_gate, const TensorFile& file) {
  std::optional<ResetGate>& known = network.known.reset_gate;
  if (known && *known != reset_gate) refuse_contradiction(file, kResetGateKey, *known, config::name_of(reset_gate));
  network.options.reset_gate = known.emplace(reset_gate);
}

}  // namespace rnnlab
