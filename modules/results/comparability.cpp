// SPDX-License-Identifier: Apache-2.0
#include "results/comparability.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "base/numbers.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/loss_agreement.h"
#include "results/run_folder.h"
#include "results/waiting.h"

namespace rnnlab {
namespace {

std::string short_hash(const std::string& hash) {
  constexpr size_t kDigitsShown = 12;
  return hash.substr(0, kDigitsShown);
}

std::string setting_in(const RunRecord& run, const std::string& name) { return value_or_absent(run.config, name); }

// The hash of the training settings also covers `deterministic`, which is outside of its section.
bool belongs_to(const std::string& name, const std::string& section) {
  return name.starts_with(section + ".") || (section == "training" && name == "deterministic");
}

// Returns the settings of `section` that differ, because a hash only shows that some settings differ.
std::vector<std::string> differing_settings(const RunRecord& a, const RunRecord& b, const std::string& section) {
  if (section.empty()) return {};
  std::set<std::string> names = unequal_settings(a.config, b.config);
  std::erase_if(names, [&](const std::string& name) { return !belongs_to(name, section); });
  return {names.begin(), names.end()};
}

// Returns the values of settings in a run: "model.cell=lstm model.hidden_size=64 and 2 more". Returns `otherwise`
// without settings.
std::string settings_text(const RunRecord& run, const std::vector<std::string>& names, const std::string& otherwise) {
  constexpr size_t kMostShown = 4;
  if (names.empty()) return otherwise;
  std::vector<std::string> shown;
  for (const std::string& name : names)
    if (shown.size() < kMostShown) shown.push_back(fmt::format("{}={}", name, setting_in(run, name)));
  const std::string text = join(shown, " ");
  return names.size() > shown.size() ? fmt::format("{} and {} more", text, names.size() - shown.size()) : text;
}

std::string samples_text(const RunRecord& run) {
  const auto samples = samples_an_epoch(run);
  return samples ? fmt::format("{:.0f}", *samples) : "";
}

std::string warmup_text(const RunRecord& run) {
  if (run.rows.empty()) return "";
  return counts_warmup(run) ? "counted" : "left out as warm-up";
}

constexpr std::string_view kGpu = "hardware (GPU)";
constexpr std::string_view kThreads = "number of threads (training.num_threads)";
constexpr std::string_view kBatchSize = "batch size";
constexpr std::string_view kModel = "model";
constexpr std::string_view kTraining = "training settings";

constexpr RunCondition kConditions[] = {
    {kBatchSize.data(), [](const RunRecord& run) { return std::to_string(run.summary.identity.batch_size); }, ""},
    {kModel.data(), [](const RunRecord& run) { return short_hash(run.summary.identity.model_hash); }, "model"},
    {kTraining.data(), [](const RunRecord& run) { return short_hash(run.summary.identity.training_hash); }, "training"},
    {"placement of the data", [](const RunRecord& run) { return run.summary.identity.placement; }, ""},
    {"precision", [](const RunRecord& run) { return run.summary.identity.precision; }, ""},
    {"hardware (CPU)", [](const RunRecord& run) { return run.summary.identity.cpu_model; }, ""},
    {kGpu.data(), [](const RunRecord& run) { return run.summary.identity.gpu_model; }, ""},
    {kThreads.data(), [](const RunRecord& run) { return std::to_string(run.summary.identity.num_threads); }, ""},
    {"build", [](const RunRecord& run) { return run.summary.identity.build_type; }, ""},
    {"samples an epoch", samples_text, ""},
    {"first epoch", warmup_text, ""},
};

const Conditions& conditions_of_run(const RunRecord& run) { return run.summary.identity.conditions; }

// Returns one run for each set of conditions in the group.
std::vector<const RunRecord*> runs_of_each_conditions(const RunGroup& group) {
  std::vector<const RunRecord*> found;
  for (const RunRecord* run : group.runs)
    if (std::ranges::none_of(
            found, [&](const RunRecord* other) { return conditions_of_run(*other) == conditions_of_run(*run); }))
      found.push_back(run);
  return found;
}

// Runs of one group are distinguished by their folders.
std::string name_of_side(const RunGroup& group, const RunRecord& run, bool is_within_one_group) {
  return is_within_one_group ? run.folder.string() : group.label;
}

GroupFinding describe_difference(const std::string& what, const std::pair<std::string, std::string>& values,
                                 const std::string& first, const std::string& second, const std::string& detail = "",
                                 const std::string& kind = "") {
  return {fmt::format("{}: {} in {}, {} in ", what, values.first, first, values.second), second, detail, kind};
}

// Times of another program require the same machine. Differences in values that only a library of rnnlab reports are
// noted.
OnUnequal on_unequal_between(const RunGroup& baseline, const RunGroup& group, const UnequalCondition& condition) {
  if (!involve_other_program(baseline, group)) return condition.on_unequal;
  if (is_reported_by_library(condition)) return OnUnequal::kNote;
  return condition.on_unequal == OnUnequal::kWarn ? OnUnequal::kRefuse : condition.on_unequal;
}

// Different versions hash different texts, so both hashes are computed again from the settings.
std::pair<std::string, std::string> values_of(const RunCondition& condition, const RunRecord& a, const RunRecord& b) {
  const bool is_old = !has_work_hashes(a.summary), is_other_old = !has_work_hashes(b.summary);
  const std::string section = condition.config_section;
  if (is_old == is_other_old || section.empty()) return {condition.value(a), condition.value(b)};
  const auto [first, second] = comparable_hashes(a, b);
  if (section == "model") return {short_hash(first.model), short_hash(second.model)};
  return {short_hash(first.training), short_hash(second.training)};
}

// Returns the settings that differ in place of their hashes, if the files have them.
std::pair<std::string, std::string> shown_values_of(const RunCondition& condition, const RunRecord& a,
                                                    const RunRecord& b) {
  const auto [first, second] = values_of(condition, a, b);
  const std::vector<std::string> names = differing_settings(a, b, condition.config_section);
  return {settings_text(a, names, first), settings_text(b, names, second)};
}

// A value that one side did not record is not a difference; comparability_notes reports it.
bool differ(const std::string& first, const std::string& second) {
  return !first.empty() && !second.empty() && first != second;
}

bool differ(const RunCondition& condition, const RunRecord& a, const RunRecord& b) {
  const auto [first, second] = values_of(condition, a, b);
  return differ(first, second);
}

// Processes that train a run together divide the CPUs, so each process has fewer threads than a single process has.
bool is_by_number_of_devices(const RunCondition& condition, const RunRecord& a, const RunRecord& b) {
  return condition.what == kThreads && have_equal_total_threads(a, b);
}

// `--scaling` compares runs whose batches are equal on each device.
std::string advice_on(const RunCondition& condition, const RunRecord& a, const RunRecord& b) {
  const bool is_scaled =
      condition.what == kBatchSize && num_devices(a) != num_devices(b) && samples_a_device(a) == samples_a_device(b);
  return is_scaled ? " (use rnnlab compare --scaling to compare the work of each device)" : "";
}

}  // namespace

void append(std::vector<GroupFinding>& all, const std::vector<GroupFinding>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void add_unequal(std::vector<GroupFinding>& found, const RunGroup& baseline, const RunGroup& group,
                 const std::string& what, const std::string& first, const std::string& second) {
  if (differ(first, second)) found.push_back(describe_difference(what, {first, second}, baseline.label, group.label));
}

bool are_equal(const RunCondition& condition, const RunRecord& a, const RunRecord& b) {
  return !differ(condition, a, b);
}

std::vector<GroupFinding> unequal_machines(const RunGroup& baseline, const RunGroup& group, OnUnequal on_unequal,
                                           const std::string& kind) {
  std::vector<GroupFinding> found;
  std::set<std::string_view> reported;
  const bool is_within = &baseline == &group;
  const auto others = runs_of_each_conditions(group);
  for (const RunRecord* a : runs_of_each_conditions(baseline))
    for (const RunRecord* b : others)
      for (const UnequalCondition& one : unequal_conditions(conditions_of_run(*a), conditions_of_run(*b))) {
        if (on_unequal_between(baseline, group, one) != on_unequal || !reported.insert(one.what).second) continue;
        found.push_back(describe_difference(one.what, {one.first, one.second}, name_of_side(baseline, *a, is_within),
                                            name_of_side(group, *b, is_within), "", kind));
      }
  return found;
}

namespace {

// Returns "" if the run does not record them.
std::string processors_text(const RunRecord& run) {
  if (run.environment.ranks) return join(processors_of(*run.environment.ranks), ", ");
  return kind_of_device(run) == "cuda" ? model_of_one_gpu(run.environment.nvidia) : run.environment.cpu.model;
}

bool has_unequal_processors(const RunRecord& run) {
  return run.environment.ranks && processors_of(*run.environment.ranks).size() > 1;
}

}  // namespace

void add_unequal_processors(std::vector<GroupFinding>& found, const RunGroup& baseline, const RunGroup& group) {
  const RunRecord &a = *baseline.runs[0], &b = *group.runs[0];
  if (has_unequal_processors(a) || has_unequal_processors(b))
    add_unequal(found, baseline, group, "processors of the processes", processors_text(a), processors_text(b));
}

namespace {

// Compares the engines of the exchange. Runs on different numbers of devices must also make their steps in the same
// way.
void add_device_differences(std::vector<GroupFinding>& found, const RunGroup& baseline, const RunGroup& group) {
  const RunRecord &a = *baseline.runs[0], &b = *group.runs[0];
  add_unequal(found, baseline, group, "engine of the exchange", exchange_engine(a), exchange_engine(b));
  add_unequal_processors(found, baseline, group);
  const bool are_on_gpus = kind_of_device(a) == "cuda" && kind_of_device(b) == "cuda";
  if (num_devices(a) == num_devices(b) || involve_other_program(baseline, group)) return;
  if (are_on_gpus) add_unequal(found, baseline, group, "CUDA graphs", graphs_text(a), graphs_text(b));
  add_unequal(found, baseline, group, "training.shards", setting_in(a, "training.shards"),
              setting_in(b, "training.shards"));
}

// Describes the difference between the first two runs of the sides that differ in the condition.
std::optional<GroupFinding> condition_difference(const RunCondition& condition, const RunGroup& baseline,
                                                 const RunGroup& group) {
  const bool is_within = &baseline == &group;
  for (const RunRecord* a : baseline.runs)
    for (const RunRecord* b : group.runs)
      if (differ(condition, *a, *b) && !is_by_number_of_devices(condition, *a, *b))
        return describe_difference(condition.what, shown_values_of(condition, *a, *b),
                                   name_of_side(baseline, *a, is_within), name_of_side(group, *b, is_within),
                                   advice_on(condition, *a, *b));
  return std::nullopt;
}

// These conditions belong to the work or follow from it. The others are of the machine and of the measurement.
constexpr std::array<std::string_view, 5> kWork = {kBatchSize, kModel, kTraining, "placement of the data",
                                                   "samples an epoch"};

bool belongs_to_work(const RunCondition& condition) { return std::ranges::find(kWork, condition.what) != kWork.end(); }

enum class Work { kIncluded, kLeftOut };

std::vector<GroupFinding> condition_differences(const RunGroup& baseline, const RunGroup& group, Work work) {
  std::vector<GroupFinding> found;
  for (const RunCondition& condition : kConditions)
    if (work == Work::kLeftOut && belongs_to_work(condition))
      continue;
    else if (const auto difference = condition_difference(condition, baseline, group))
      found.push_back(*difference);
  add_device_differences(found, baseline, group);
  append(found, unequal_machines(baseline, group, OnUnequal::kRefuse));
  return found;
}

using Hash = std::string Identity::*;

const std::string& hash_of(const RunRecord& run, Hash hash) { return run.summary.identity.*hash; }

GroupFinding describe_mismatch(const std::string& what, const RunRecord& a, const RunRecord& b, Hash hash) {
  return describe_difference(what, {short_hash(hash_of(a, hash)), short_hash(hash_of(b, hash))}, a.folder.string(),
                             b.folder.string());
}

// Describes the first two runs with equal seeds and different hashes.
std::optional<GroupFinding> seed_difference(const RunGroup& baseline, const RunGroup& group, const char* what,
                                            Hash hash) {
  for (const RunRecord* a : baseline.runs)
    for (const RunRecord* b : group.runs)
      if (a->summary.seed == b->summary.seed && differ(hash_of(*a, hash), hash_of(*b, hash)))
        return describe_mismatch(fmt::format("{} of seed {}", what, a->summary.seed), *a, *b, hash);
  return std::nullopt;
}

bool has_one_value(const RunGroup& group, Hash hash) {
  return std::ranges::all_of(
      group.runs, [&](const RunRecord* run) { return hash_of(*run, hash) == hash_of(*group.runs[0], hash); });
}

std::optional<GroupFinding> data_settings_difference(const RunGroup& baseline, const RunGroup& group) {
  const RunRecord &a = *baseline.runs[0], &b = *group.runs[0];
  const std::vector<std::string> names = differing_settings(a, b, "data");
  if (names.empty()) return std::nullopt;
  return describe_difference("data", {settings_text(a, names, ""), settings_text(b, names, "")}, baseline.label,
                             group.label);
}

// Data may be drawn or split by the seed. If they do not depend on the seed, they must be equal for all seeds.
std::optional<GroupFinding> data_difference(const RunGroup& baseline, const RunGroup& group) {
  constexpr Hash kData = &Identity::data_fingerprint;
  const RunRecord& a = *baseline.runs[0];
  const RunRecord& b = *group.runs[0];
  if (hash_of(a, kData).empty() || hash_of(b, kData).empty()) return std::nullopt;  // a run of another program
  const bool depends_on_seed = !has_one_value(baseline, kData) || !has_one_value(group, kData);
  if (depends_on_seed) return seed_difference(baseline, group, "data", kData);
  if (hash_of(a, kData) == hash_of(b, kData)) return std::nullopt;
  if (const auto by_settings = data_settings_difference(baseline, group)) return by_settings;
  return describe_mismatch("data", a, b, kData);
}

// Returns "3", or "2 to 3" if the runs have different numbers of epochs.
std::string num_epochs(const RunGroup& group) {
  std::vector<int64_t> counts;
  for (const RunRecord* run : group.runs) counts.push_back(run->summary.epochs);
  const auto [least, most] = std::ranges::minmax(counts);
  return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
}

bool share_a_seed(const RunGroup& a, const RunGroup& b) {
  const std::vector<int64_t> first = seeds(a), second = seeds(b);
  return std::ranges::any_of(first, [&](int64_t seed) { return std::ranges::find(second, seed) != second.end(); });
}

std::string seed_list(const RunGroup& group) { return fmt::format("{}", fmt::join(seeds(group), ", ")); }

// Returns the hours between those two runs of the sides that started closest to each other; nothing if no start is
// known.
std::optional<double> hours_between(const RunGroup& baseline, const RunGroup& group) {
  constexpr double kSecondsOfHour = 3600;
  std::optional<double> least;
  for (const RunRecord* a : baseline.runs)
    for (const RunRecord* b : group.runs) {
      const auto first = start_in_seconds(*a), second = start_in_seconds(*b);
      if (!first || !second) continue;
      const double hours = std::abs(*first - *second) / kSecondsOfHour;
      least = std::min(least.value_or(hours), hours);
    }
  return least;
}

constexpr std::pair<const char*, Hash> kHashes[] = {{"data", &Identity::data_fingerprint},
                                                    {"initial weights", &Identity::initial_weights_sha256},
                                                    {"order of the samples", &Identity::order_sha256}};

// Returns the values, except conditions of the machine, that one program recorded and the other did not.
std::vector<std::string> recorded_by_one_program(const RunRecord& a, const RunRecord& b) {
  std::vector<std::string> unrecorded;
  for (const auto& [what, hash] : kHashes)
    if (hash_of(a, hash).empty() != hash_of(b, hash).empty()) unrecorded.emplace_back(what);
  for (const RunCondition& condition : kConditions)
    if (condition.what != kGpu && condition.value(a).empty() != condition.value(b).empty())
      unrecorded.emplace_back(condition.what);
  return unrecorded;
}

bool has_other_batch_size(const RunRecord& a, const RunRecord& b) {
  return setting_in(a, "training.batch_size") != setting_in(b, "training.batch_size");
}

// Two programs may begin with different weights and take the samples in a different order, so differences are only
// noted.
void note_hashes(std::vector<GroupFinding>& notes, const RunGroup& baseline, const RunGroup& group) {
  if (!involve_other_program(baseline, group)) return;
  for (const auto& [what, hash] : kHashes) {
    const auto difference = seed_difference(baseline, group, what, hash);
    if (difference) notes.push_back(*difference);
  }
}

void note_unrecorded(std::vector<GroupFinding>& notes, const RunGroup& baseline, const RunGroup& group) {
  std::vector<std::string> missing;
  const auto others = runs_of_each_conditions(group);
  for (const RunRecord* a : runs_of_each_conditions(baseline))
    for (const RunRecord* b : others)
      for (const std::string& what : unrecorded_conditions(conditions_of_run(*a), conditions_of_run(*b)))
        add_once(missing, what);
  if (involve_other_program(baseline, group))
    for (std::string& what : recorded_by_one_program(*baseline.runs[0], *group.runs[0]))
      missing.push_back(std::move(what));
  if (!missing.empty())
    notes.push_back({fmt::format("not compared, because only one side recorded it: {} (of {} and ",
                                 join_with_and(missing), baseline.label),
                     group.label, ")"});
}

// The speed of a machine changes with time, because other processes start and end, and the room gets warm.
void note_hours(std::vector<GroupFinding>& notes, const RunGroup& baseline, const RunGroup& group) {
  const auto hours = hours_between(baseline, group);
  if (hours && *hours >= 1)
    notes.push_back(
        {fmt::format("{} between the starts of {} and ", counted(std::lround(*hours), "hour"), baseline.label),
         group.label, ""});
}

}  // namespace

std::span<const RunCondition> run_conditions() { return kConditions; }

std::vector<GroupFinding> other_work(const RunGroup& baseline, const RunGroup& group) {
  const RunRecord &a = *baseline.runs[0], &b = *group.runs[0];
  std::vector<GroupFinding> found;
  if (&baseline == &group || involve_other_program(baseline, group)) return found;
  if (const auto data = data_settings_difference(baseline, group); data && data_difference(baseline, group))
    found.push_back(*data);
  for (const RunCondition& condition : kConditions) {
    const bool is_set = condition.what == kBatchSize ? num_devices(a) == num_devices(b) && has_other_batch_size(a, b)
                                                     : !differing_settings(a, b, condition.config_section).empty();
    if (const auto difference = condition_difference(condition, baseline, group); difference && is_set)
      found.push_back(*difference);
  }
  return found;
}

std::vector<GroupFinding> differences_beside_work(const RunGroup& baseline, const RunGroup& group) {
  return condition_differences(baseline, group, Work::kLeftOut);
}

std::vector<GroupFinding> differences(const RunGroup& baseline, const RunGroup& group) {
  std::vector<GroupFinding> found = condition_differences(baseline, group, Work::kIncluded);
  if (const auto data = data_difference(baseline, group)) found.push_back(*data);
  if (involve_other_program(baseline, group)) return found;
  const auto weights = seed_difference(baseline, group, "initial weights", &Identity::initial_weights_sha256);
  if (weights) found.push_back(*weights);
  const auto order = seed_difference(baseline, group, "order of the samples", &Identity::order_sha256);
  if (order) found.push_back(*order);
  return found;
}

std::vector<GroupFinding> warnings_between(const RunGroup& baseline, const RunGroup& group) {
  std::vector<GroupFinding> found;
  if (!share_a_seed(baseline, group))
    found.push_back(
        {fmt::format("DIFFERENT INITIAL WEIGHTS AND ORDER OF THE SAMPLES: no seed is in both, {} in {}, {} in ",
                     seed_list(baseline), baseline.label, seed_list(group)),
         group.label, "", warning::kOtherWeights});
  if (const auto parting = differing_losses(baseline, group))
    found.push_back({fmt::format("losses differ: with the same weights, data and order, epoch {} has a train loss of "
                                 "{:.6g} in {}, {:.6g} in ",
                                 parting->epoch, parting->first, baseline.label, parting->second),
                     group.label, ": they do not compute the same function", warning::kLossesPart});
  append(found, machine_warnings(baseline, group));
  return found;
}

std::vector<GroupFinding> machine_warnings(const RunGroup& baseline, const RunGroup& group) {
  std::vector<GroupFinding> found = unequal_machines(baseline, group, OnUnequal::kWarn, warning::kOtherMachine);
  append(found, waiting_between(baseline, group));
  return found;
}

std::vector<GroupFinding> comparability_notes(const RunGroup& baseline, const RunGroup& group) {
  const Environment& a = baseline.runs[0]->environment;
  const Environment& b = group.runs[0]->environment;
  std::vector<GroupFinding> notes;
  if (share_a_seed(baseline, group))
    add_unequal(notes, baseline, group,
                "the seeds differ, so initial weights were compared only between runs of equal seeds",
                seed_list(baseline), seed_list(group));
  add_unequal(notes, baseline, group,
              "trained for different numbers of epochs, so their final losses and metrics are not comparable",
              num_epochs(baseline), num_epochs(group));
  const bool first_has_gpu = !baseline.runs[0]->summary.identity.gpu_model.empty();
  const bool second_has_gpu = !group.runs[0]->summary.identity.gpu_model.empty();
  if (first_has_gpu != second_has_gpu)
    notes.push_back({"", first_has_gpu ? group.label : baseline.label,
                     fmt::format(" recorded no GPU, so whether it is the same machine as that of {} is not known",
                                 first_has_gpu ? baseline.label : group.label)});
  for (const UnequalCondition& one : unequal_versions(a.software, b.software))
    add_unequal(notes, baseline, group, one.what, one.first, one.second);
  append(notes, unequal_machines(baseline, group, OnUnequal::kNote));
  note_hashes(notes, baseline, group);
  note_unrecorded(notes, baseline, group);
  note_hours(notes, baseline, group);
  return notes;
}

}  // namespace rnnlab
