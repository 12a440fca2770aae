// SPDX-License-Identifier: Apache-2.0
// Which runs are the same work, so that a comparison counts them as one group, and how groups are called.
#include "results/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/config/sweep.h"
#include "base/folder.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

bool is_same_number(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return *a == *b || (std::isnan(*a) && std::isnan(*b));
}

bool is_same_row(const EpochRow& a, const EpochRow& b) {
  return std::ranges::all_of(epoch_columns(), [&](const EpochColumn& column) {
    return is_same_number(number_in(a, column), number_in(b, column));
  });
}

}  // namespace

bool is_copy(const RunRecord& a, const RunRecord& b) {
  if (a.environment.start_time != b.environment.start_time) return false;
  if (a.summary.turn.process != b.summary.turn.process) return false;
  const bool rows_identify_run = !a.summary.turn.process.empty() && !a.rows.empty();
  if (!rows_identify_run && a.config != b.config) return false;
  return std::ranges::equal(a.rows, b.rows, is_same_row);
}

namespace {

// Returns the number of processes that trained the run, their engine of the exchange, and their processors if they are
// not all alike.
std::string ranks_text(const Environment& environment) {
  if (!environment.ranks) return "";
  const RanksInfo& ranks = *environment.ranks;
  const std::vector<std::string> processors = processors_of(ranks);
  return fmt::format("{} on {} by {}{}", ranks.num_processes, ranks.num_hosts, ranks.exchange,
                     processors.size() > 1 ? " on " + join(processors, ", ") : "");
}

// Returns what makes a run the same work as another run, for any seed: its device, hardware and software, and its
// settings.
std::vector<std::string> work_key(const RunRecord& run) {
  const Identity& identity = run.summary.identity;
  const BuildInfo& build = run.environment.build;
  const SoftwareVersions& software = run.environment.software;
  std::vector<std::string> key = {run.summary.device,
                                  run.summary.layer,
                                  identity.precision,
                                  identity.build_type,
                                  identity.cpu_model,
                                  identity.gpu_model,
                                  identity.model_hash,
                                  identity.training_hash,
                                  identity.placement,
                                  std::to_string(identity.num_threads),
                                  std::to_string(identity.batch_size),
                                  build.git_revision + (build.git_dirty ? " dirty" : ""),
                                  software.libtorch,
                                  software.cuda,
                                  software.cudnn,
                                  software.program,
                                  ranks_text(run.environment)};
  for (const auto& [name, value] : run.config)
    if (!is_choice_of_run(name)) key.push_back(name + "=" + value);
  return key;
}

// Runs of different versions of the program may differ in dozens of settings. Such a list is not readable, so it is
// left out.
std::vector<std::string> readable_differing_settings(const std::vector<RunGroup>& groups) {
  constexpr size_t kMostReadable = 6;
  const std::vector<std::string> keys = differing_settings(groups);
  return keys.size() > kMostReadable ? std::vector<std::string>() : keys;
}

// Returns " batch_size=64 data.seed=2".
std::string settings_text(const RunRecord& run, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys)
    if (const auto value = run.config.find(key); value != run.config.end() && !value->second.empty())
      text += " " + short_key(key, keys) + "=" + value->second;
  return text;
}

// Returns null if the run is not a copy.
RunGroup* group_of_original(std::vector<RunGroup>& groups, const RunRecord& run) {
  for (RunGroup& group : groups)
    if (std::ranges::any_of(group.runs, [&](const RunRecord* other) { return is_copy(*other, run); })) return &group;
  return nullptr;
}

bool has_conditions_of(const RunGroup& group, const RunRecord& run) {
  return std::ranges::all_of(group.runs, [&](const RunRecord* other) {
    return allow_comparison(other->summary.identity.conditions, run.summary.identity.conditions);
  });
}

using Labeller = std::string (*)(const RunRecord&);

bool label_uniquely(std::vector<RunGroup>& groups, Labeller labeller) {
  const auto keys = readable_differing_settings(groups);
  std::set<std::string> labels;
  for (RunGroup& group : groups) {
    group.label = labeller(*group.runs[0]) + settings_text(*group.runs[0], keys);
    labels.insert(group.label);
  }
  return labels.size() == groups.size();
}

std::string label_by_layer(const RunRecord& run) {
  const std::string& program = other_program(run);
  return run.summary.device + " " + (program.empty() ? run.summary.layer : program);
}
std::string label_by_name(const RunRecord& run) { return run.summary.name + " " + label_by_layer(run); }
std::string label_by_folder(const RunRecord& run) { return run.folder.string(); }

// Counts the runs whose folders have the same last name.
std::map<std::string, size_t> count_names(const std::vector<RunRecord>& runs) {
  std::map<std::string, size_t> counts;
  for (const RunRecord& run : runs) ++counts[last_name(run.folder.string())];
  return counts;
}

void name_folders(std::vector<RunGroup>& groups, const std::vector<RunRecord>& runs) {
  const auto counts = count_names(runs);
  for (RunGroup& group : groups)
    for (const RunRecord* run : group.runs) {
      const std::string name = last_name(run->folder.string());
      group.names[run] = counts.at(name) == 1 ? name : run->folder.string();
    }
}

}  // namespace

bool involve_other_program(const RunGroup& a, const RunGroup& b) {
  return !other_program(*a.runs[0]).empty() || !other_program(*b.runs[0]).empty();
}

std::vector<RunGroup> group_by(const std::vector<RunRecord>& runs, const Belongs& belongs) {
  std::vector<RunGroup> groups;
  for (const RunRecord* run : in_order_of_sweeps(runs)) {
    if (RunGroup* original = group_of_original(groups, *run)) {
      original->copies.push_back(run);
      continue;
    }
    auto found = std::ranges::find_if(groups, [&](const RunGroup& group) { return belongs(group, *run); });
    if (found == groups.end()) found = groups.emplace(groups.end());
    found->runs.push_back(run);
  }
  return groups;
}

std::vector<RunGroup> group_runs(const std::vector<RunRecord>& runs) {
  std::map<const RunRecord*, std::vector<std::string>> works;
  for (const RunRecord& run : runs) works[&run] = work_key(run);
  std::vector<RunGroup> groups = group_by(runs, [&](const RunGroup& group, const RunRecord& run) {
    return works[group.runs[0]] == works[&run] && has_conditions_of(group, run);
  });
  for (const Labeller labeller : {label_by_layer, label_by_name, label_by_folder})
    if (label_uniquely(groups, labeller)) break;
  name_folders(groups, runs);
  return groups;
}

std::string folder_name(const RunRecord& run, const RunGroup& group) {
  const auto found = group.names.find(&run);
  return found == group.names.end() ? run.folder.string() : found->second;
}

namespace {

// The layer of an image model is the value of `convolution`, so a label would say it twice.
bool is_name_of_layer(const std::string& key, const std::vector<RunGroup>& groups) {
  return std::ranges::all_of(groups, [&](const RunGroup& group) {
    return value_or_absent(group.runs[0]->config, key) == group.runs[0]->summary.layer;
  });
}

}  // namespace

std::vector<std::string> unequal_settings(const std::vector<RunGroup>& groups) {
  std::set<std::string> keys;
  for (const RunGroup& group : groups) keys.merge(unequal_settings(group.runs[0]->config, groups[0].runs[0]->config));
  std::erase_if(keys, [](const std::string& key) { return key == "name" || is_choice_of_run(key); });
  return {keys.begin(), keys.end()};
}

std::vector<std::string> differing_settings(const std::vector<RunGroup>& groups) {
  std::vector<std::string> keys = unequal_settings(groups);
  std::erase_if(keys, [&](const std::string& key) { return is_name_of_layer(key, groups); });
  return keys;
}

std::string short_key(const std::string& key, const std::vector<std::string>& keys) {
  const auto is_alike = [&](const std::string& other) { return config::last_part(other) == config::last_part(key); };
  return std::ranges::count_if(keys, is_alike) == 1 ? config::last_part(key) : key;
}

std::vector<EpochRow> all_rows(const RunGroup& group) {
  std::vector<EpochRow> rows;
  for (const RunRecord* run : group.runs) rows.insert(rows.end(), run->rows.begin(), run->rows.end());
  return rows;
}

std::optional<double> samples_an_epoch(const RunRecord& run) {
  const auto counts = [](const EpochRow& row) { return !row.warmup && num_samples(row) > 0; };
  const auto row = std::ranges::find_if(run.rows, counts);
  return row == run.rows.end() ? std::nullopt : std::optional(num_samples(*row));
}

std::optional<double> samples_an_epoch(const RunGroup& group) {
  for (const RunRecord* run : group.runs)
    if (const auto samples = samples_an_epoch(*run)) return samples;
  return std::nullopt;
}

std::vector<double> timed_seconds(const RunGroup& group) {
  std::vector<double> all;
  for (const RunRecord* run : group.runs) {
    const std::vector<double> seconds = timed_seconds(run->rows);
    all.insert(all.end(), seconds.begin(), seconds.end());
  }
  return all;
}

std::vector<int64_t> seeds(const RunGroup& group) {
  std::set<int64_t> found;
  for (const RunRecord* run : group.runs) found.insert(run->summary.seed);
  return {found.begin(), found.end()};
}

namespace {

// Returns a key that is equal for runs that are sorted among themselves.
std::string key_of(const RunRecord& run) {
  if (!run.summary.turn.measurement.empty()) return run.summary.turn.measurement;
  return run.environment.start_time + " " + normalized_path(run.folder).parent_path().string();
}

bool is_shown_before(const RunRecord* a, const RunRecord* b) {
  return std::tie(a->summary.turn.case_number, a->started) < std::tie(b->summary.turn.case_number, b->started);
}

}  // namespace

std::vector<const RunRecord*> in_order_of_sweeps(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<const RunRecord*>> sweeps;
  std::map<std::string, size_t> index_of;
  for (const RunRecord& run : runs) {
    const auto [found, is_new] = index_of.emplace(key_of(run), sweeps.size());
    if (is_new) sweeps.emplace_back();
    sweeps[found->second].push_back(&run);
  }
  std::vector<const RunRecord*> all;
  for (auto& sweep : sweeps) {
    std::ranges::stable_sort(sweep, is_shown_before);
    all.insert(all.end(), sweep.begin(), sweep.end());
  }
  return all;
}

}  // namespace rnnlab
