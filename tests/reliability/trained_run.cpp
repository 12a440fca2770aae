// SPDX-License-Identifier: Apache-2.0
#include "reliability/trained_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/computed_values.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

std::string computed_values(const Json& row) {
  std::string line;
  for (const EpochColumn& column : epoch_columns())
    if (const auto value = row.find(std::string(column.name));
        value != row.end() && value->is_number() && is_computed(column))
      line += fmt::format("{} {} ", column.name, format_shortest(value->get<double>()));
  return line;
}

}  // namespace

TrainedRun read_trained_run(const fs::path& folder) {
  TrainedRun run;
  const auto latest = latest_checkpoint(folder / kCheckpointsFolder);
  if (!latest.place) throw_error(ExitCode::kCheckpoint, "{}: no checkpoint verifies", folder.string());
  const Manifest manifest = verify_checkpoint(latest.place->path);
  run.step = manifest.step;
  run.model_sha256 = manifest.files.at(kModelFile).sha256;
  run.optimizer_sha256 = manifest.files.at(kOptimizerFile).sha256;
  for (const EpochRow& row : read_epochs(folder)) run.csv_epochs.push_back(computed_values(row));
  std::istringstream lines(read_text(folder / kEpochsJsonlFile));
  for (std::string line; std::getline(lines, line);)
    run.jsonl_epochs.push_back(computed_values(parse_json(line, kEpochsJsonlFile)));
  return run;
}

fs::path only_run_in(const fs::path& out, const std::string& experiment) {
  std::vector<fs::path> runs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(out / experiment, ignored))
    if (!entry.is_symlink()) runs.push_back(entry.path());
  EXPECT_EQ(runs.size(), 1U) << out;
  return runs.empty() ? out / experiment / "none" : runs.front();
}

std::optional<fs::path> begun_run_in(const fs::path& out, const std::string& experiment) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(out / experiment, ignored))
    if (!entry.is_symlink() && fs::exists(entry.path() / kConfigFile)) return entry.path();
  return std::nullopt;
}

std::vector<std::string> leftovers_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (const std::string name = entry.path().filename().string(); name.starts_with('.')) names.push_back(name);
  return names;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& word) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) found.push_back(line);
  return found;
}

std::vector<int> children_of(int process) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", process));
  std::vector<int> found;
  for (int child = 0; file >> child;) found.push_back(child);
  return found;
}

int64_t number_from_environment(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace rnnlab::testing
