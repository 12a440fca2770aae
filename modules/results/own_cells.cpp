// SPDX-License-Identifier: Apache-2.0
#include "results/own_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/sha256.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

constexpr const char* kCell = "model.cell";
constexpr const char* kName = "model.cell.name";

bool is_of_own_cell(std::string_view key) { return key.starts_with("model.cell."); }

bool has_own_cell(const RunRecord& run) { return run.config.contains("model.cell.equations"); }

template <class Wanted>
Settings part_of(const Settings& settings, Wanted is_wanted) {
  Settings part;
  for (const auto& [key, value] : settings)
    if (is_wanted(key)) part.emplace(key, value);
  return part;
}

// Returns all that the settings say of the cell but its name for people.
Settings equations_of(const RunRecord& run) {
  return part_of(run.config, [](const std::string& key) {
    return key == kCell || (is_of_own_cell(key) && key != kName) || is_option_of_cell(key);
  });
}

bool have_one_cell(const RunRecord& a, const RunRecord& b) {
  const std::string& hash = a.summary.identity.cell_sha256;
  return (!hash.empty() && hash == b.summary.identity.cell_sha256) || equations_of(a) == equations_of(b);
}

struct CellOfRuns {
  std::vector<RunRecord*> runs;

  bool is_of(const RunRecord& run) const {
    return std::ranges::any_of(runs, [&](const RunRecord* other) { return have_one_cell(*other, run); });
  }

  // Returns null if every run has equations.
  const RunRecord* named_run() const {
    const auto found = std::ranges::find_if_not(runs, [](const RunRecord* run) { return has_own_cell(*run); });
    return found == runs.end() ? nullptr : *found;
  }

  std::string name() const {
    const RunRecord* const named = named_run();
    return named != nullptr ? value_or_empty(*named, kCell) : value_or_empty(*runs[0], kName);
  }

  // Returns the first digits of the cell's hash, or of that of its settings in runs of earlier versions.
  std::string short_hash() const {
    constexpr size_t kDigitsShown = 8;
    for (const RunRecord* run : runs)
      if (!run->summary.identity.cell_sha256.empty()) return run->summary.identity.cell_sha256.substr(0, kDigitsShown);
    Sha256 digest;
    for (const auto& [key, value] : equations_of(*runs[0])) digest.update(key + "=" + value + "\n");
    return digest.hex().substr(0, kDigitsShown);
  }

 private:
  static std::string value_or_empty(const RunRecord& run, const std::string& key) {
    const auto found = run.config.find(key);
    return found == run.config.end() ? "" : found->second;
  }
};

std::vector<CellOfRuns> cells_of(std::vector<RunRecord>& runs) {
  std::vector<CellOfRuns> cells;
  for (RunRecord& run : runs) {
    auto found = std::ranges::find_if(cells, [&](const CellOfRuns& cell) { return cell.is_of(run); });
    if (found == cells.end()) found = cells.emplace(cells.end());
    found->runs.push_back(&run);
  }
  return cells;
}

// Replaces the equations of a run by those settings that say which cell it has.
void replace_equations(RunRecord& run, const std::string& name, const RunRecord* named_run) {
  run.own_cell = part_of(run.config, is_of_own_cell);
  std::erase_if(run.config, [](const auto& setting) { return is_of_own_cell(setting.first); });
  run.config[kCell] = name;
  if (named_run != nullptr) {
    std::erase_if(run.config, [](const auto& setting) { return is_option_of_cell(setting.first); });
    run.config.merge(part_of(named_run->config, is_option_of_cell));
  }
  run.summary.identity.model_hash = work_hashes(run.config).model;
}

}  // namespace

bool is_option_of_cell(std::string_view key) {
  constexpr std::array<std::string_view, 3> kOptions = {"model.reset_gate", "model.activation", "model.candidate"};
  return std::ranges::find(kOptions, key) != kOptions.end();
}

void name_own_cells(std::vector<RunRecord>& runs) {
  if (std::ranges::none_of(runs, has_own_cell)) return;
  const std::vector<CellOfRuns> cells = cells_of(runs);
  std::map<std::string, int> num_cells;  // by name
  for (const CellOfRuns& cell : cells) ++num_cells[cell.name()];
  for (const CellOfRuns& cell : cells) {
    const RunRecord* const named = cell.named_run();
    const bool is_unique = named != nullptr || num_cells[cell.name()] == 1;
    const std::string name = is_unique ? cell.name() : fmt::format("{} ({})", cell.name(), cell.short_hash());
    for (RunRecord* run : cell.runs)
      if (has_own_cell(*run)) replace_equations(*run, name, named);
  }
}

}  // namespace rnnlab
