// SPDX-License-Identifier: Apache-2.0
#include "results/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

std::string number_text(int64_t number) { return number == 0 ? "" : std::to_string(number); }

std::string revision_text(const BuildInfo& build) {
  constexpr size_t kDigitsShown = 12;
  if (build.git_revision.empty()) return "";
  return build.git_revision.substr(0, kDigitsShown) + (build.git_dirty ? " with changes" : "");
}

std::string libtorch_text(const SoftwareVersions& software) {
  constexpr size_t kDigitsShown = 12;
  const std::string commit = software.libtorch_commit.substr(0, kDigitsShown);
  return software.libtorch + (commit.empty() ? "" : " of " + commit);
}

std::string power_limits_text(const GpuSurvey& survey) {
  std::vector<std::string> limits;
  for (const GpuInfo& gpu : survey.gpus)
    if (gpu.power_limit_watts > 0) add_once(limits, fmt::format("{:.0f} W", gpu.power_limit_watts));
  std::ranges::sort(limits);
  return join(limits, ", ");
}

// The reported memory of one machine may differ by some megabytes after a restart.
bool are_equal_memories(int64_t a, int64_t b) {
  constexpr double kRounding = 0.02;
  return std::abs(static_cast<double>(a - b)) <= kRounding * static_cast<double>(std::max(a, b));
}

// A LibTorch without the revision of its sources may be the same LibTorch.
bool are_equal_libtorchs(const std::string& a, const std::string& b) { return a.starts_with(b) || b.starts_with(a); }

bool has_variables(const Conditions& conditions) { return conditions.variables.has_value(); }

std::string shown_variables(const Conditions& conditions) {
  if (!has_variables(conditions)) return "";
  const std::string text = variables_text(*conditions.variables);
  return text.empty() ? "none" : text;
}

constexpr std::string_view kInstructionSet = "instruction set of ";
constexpr const char* kMemory = "memory";
constexpr const char* kVariables = "variables that change kernels";
constexpr const char* kOtherVariables = "variables that change no kernel";
constexpr const char* kDriver = "NVIDIA driver";
constexpr const char* kPowerLimit = "power limit of the GPU";
constexpr const char* kLibTorch = "LibTorch";
constexpr const char* kProgram = "program as linked";

bool is_recorded(const ConditionField& field, const Conditions& conditions) { return !field.text(conditions).empty(); }

void add_variables(std::vector<UnequalCondition>& found, const Conditions& a, const Conditions& b) {
  if (!has_variables(a) || !has_variables(b)) return;
  const auto add = [&](const char* what, OnUnequal on_unequal, auto text) {
    const std::string first = text(*a.variables, *b.variables), second = text(*b.variables, *a.variables);
    if (!first.empty()) found.push_back({what, on_unequal, first, second});
  };
  add(kVariables, OnUnequal::kRefuse, differing_variables);
  add(kOtherVariables, OnUnequal::kNote, differing_neutral_variables);
}

}  // namespace

Conditions conditions_of(const Environment& environment) {
  return {.machine_id = environment.host.machine_id,
          .cpu_flags = join(environment.cpu.vector_flags, " "),
          .usable_cpus = environment.cpu.usable_cpus,
          .usable_cores = environment.cpu.usable_cores,
          .cpu_quota = environment.cpu.quota,
          .memory_bytes = environment.host.usable_memory_bytes,
          .instruction_sets = environment.instruction_sets,
          .variables = environment.variables,
          .driver = environment.nvidia.driver_version,
          .kernel = environment.host.kernel,
          .libtorch = libtorch_text(environment.software),
          .compiler = environment.build.compiler,
          .sources = revision_text(environment.build),
          .program_id = environment.process ? environment.process->program_id : "",
          .cpu_frequency = environment.cpu.frequency,
          .gpu_power_limit = power_limits_text(environment.nvidia),
          .huge_pages = environment.host.huge_pages,
          .nice = environment.process ? std::optional(environment.process->nice) : std::nullopt};
}

std::span<const ConditionField> condition_fields() {
  using enum OnUnequal;
  static constexpr ConditionField kFields[] = {
      {"usable CPUs", kRefuse, [](const Conditions& c) { return number_text(c.usable_cpus); }},
      {"cores of these CPUs", kRefuse,
       [](const Conditions& c) { return c.usable_cores ? std::to_string(*c.usable_cores) : std::string(); }},
      {"CPU quota", kRefuse, [](const Conditions& c) { return c.cpu_quota; }},
      {kMemory, kRefuse,
       [](const Conditions& c) { return c.memory_bytes == 0 ? std::string() : format_bytes(c.memory_bytes); }},
      {"instructions of the CPU", kRefuse, [](const Conditions& c) { return c.cpu_flags; }},
      {"instruction set of ATen", kRefuse, [](const Conditions& c) { return c.instruction_sets.aten; }},
      {"instruction set of oneDNN", kRefuse, [](const Conditions& c) { return c.instruction_sets.onednn; }},
      {"instruction set of MKL", kRefuse, [](const Conditions& c) { return c.instruction_sets.mkl; }},
      {"frequency of the CPU", kRefuse, [](const Conditions& c) { return c.cpu_frequency; }},
      {kDriver, kRefuse, [](const Conditions& c) { return c.driver; }},
      {kPowerLimit, kRefuse, [](const Conditions& c) { return c.gpu_power_limit; }},
      {kVariables, kRefuse, shown_variables},
      {"machine", kWarn, [](const Conditions& c) { return c.machine_id; }},
      {"kernel", kNote, [](const Conditions& c) { return c.kernel; }},
      {kLibTorch, kNote, [](const Conditions& c) { return c.libtorch; }},
      {"compiler", kNote, [](const Conditions& c) { return c.compiler; }},
      {"git revision of rnnlab", kNote, [](const Conditions& c) { return c.sources; }},
      {kProgram, kNote, [](const Conditions& c) { return c.program_id; }},
      {"transparent huge pages", kNote, [](const Conditions& c) { return c.huge_pages; }},
      {"nice value", kNote, [](const Conditions& c) { return c.nice ? std::to_string(*c.nice) : std::string(); }},
  };
  return kFields;
}

bool are_equal(const ConditionField& field, const Conditions& a, const Conditions& b) {
  if (field.what == kMemory) return are_equal_memories(a.memory_bytes, b.memory_bytes);
  if (field.what == kLibTorch) return are_equal_libtorchs(a.libtorch, b.libtorch);
  if (field.what == kProgram && a.sources != b.sources) return true;  // the sources are reported
  return field.text(a) == field.text(b);
}

std::vector<UnequalCondition> unequal_conditions(const Conditions& first, const Conditions& second) {
  std::vector<UnequalCondition> found;
  for (const ConditionField& field : condition_fields()) {
    const bool are_recorded = is_recorded(field, first) && is_recorded(field, second);
    if (field.what == kVariables || !are_recorded || are_equal(field, first, second)) continue;
    found.push_back({field.what, field.on_unequal, field.text(first), field.text(second)});
  }
  add_variables(found, first, second);
  return found;
}

std::vector<UnequalCondition> unequal_versions(const SoftwareVersions& first, const SoftwareVersions& second) {
  std::vector<UnequalCondition> found = {{"CUDA", OnUnequal::kNote, first.cuda, second.cuda},
                                         {"cuDNN", OnUnequal::kNote, first.cudnn, second.cudnn},
                                         {"version of rnnlab", OnUnequal::kNote, first.rnnlab, second.rnnlab}};
  std::erase_if(found, [](const UnequalCondition& one) { return one.first == one.second; });
  return found;
}

bool affects_gpus(const UnequalCondition& condition) {
  return condition.what == kDriver || condition.what == kPowerLimit || condition.what == kVariables;
}

bool is_reported_by_library(const UnequalCondition& condition) {
  return std::string_view(condition.what).starts_with(kInstructionSet);
}

std::vector<std::string> unrecorded_conditions(const Conditions& first, const Conditions& second) {
  std::vector<std::string> found;
  for (const ConditionField& field : condition_fields())
    if (is_recorded(field, first) != is_recorded(field, second)) found.emplace_back(field.what);
  return found;
}

bool allow_comparison(const Conditions& first, const Conditions& second) {
  return std::ranges::none_of(unequal_conditions(first, second), [](const UnequalCondition& condition) {
    return condition.on_unequal == OnUnequal::kRefuse;
  });
}

}  // namespace rnnlab
