// SPDX-License-Identifier: Apache-2.0
// Lists the conditions under which a run or a benchmark was measured: the parts of its environment.json that affect
// times. The list states which conditions must be equal, which cause a warning if they differ, and which are only
// noted. A condition that one side did not record is not compared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/environment.h"

namespace rnnlab {

// "" or 0 means that a condition was not recorded or does not exist.
struct Conditions {
  std::string machine_id;
  std::string cpu_flags;  // vector instructions of the CPU, as the kernel reports them
  int64_t usable_cpus = 0;
  std::optional<int64_t> usable_cores;  // cores to which these CPUs belong
  std::string cpu_quota;
  int64_t memory_bytes = 0;  // memory that the process may use
  InstructionSets instruction_sets;
  std::optional<Variables> variables;
  std::string driver;
  std::string kernel;
  std::string libtorch;  // the loaded version, with the revision of its sources
  std::string compiler;
  std::string sources;  // revision of rnnlab, and whether the sources were changed
  std::string program_id;
  std::string cpu_frequency;    // who chooses it
  std::string gpu_power_limit;  // "700 W"; of several GPUs "600 W, 700 W"
  std::string huge_pages;
  std::optional<int64_t> nice;

  friend bool operator==(const Conditions&, const Conditions&) = default;

  RNNLAB_FIELDS(machine_id, cpu_flags, usable_cpus, where_given(usable_cores), cpu_quota, memory_bytes,
                instruction_sets, variables, driver, kernel, libtorch, compiler, sources, program_id, cpu_frequency,
                gpu_power_limit, huge_pages, nice)
};

Conditions conditions_of(const Environment& environment);

// States the action if two sides differ in a condition.
enum class OnUnequal { kRefuse, kWarn, kNote };

// Describes one condition: its name, and its value as a text; "" if the value was not recorded.
struct ConditionField {
  const char* what;
  OnUnequal on_unequal;
  std::string (*text)(const Conditions&);
};
std::span<const ConditionField> condition_fields();

// Returns whether both values are equal, except for differences that do not affect times.
bool are_equal(const ConditionField& field, const Conditions& a, const Conditions& b);

// Describes a condition in which two sides differ, with both values. The values of variables contain only the variables
// that differ.
struct UnequalCondition {
  const char* what;
  OnUnequal on_unequal;
  std::string first, second;
};
std::vector<UnequalCondition> unequal_conditions(const Conditions& first, const Conditions& second);

// Returns the versions of software that differ and are only noted.
std::vector<UnequalCondition> unequal_versions(const SoftwareVersions& first, const SoftwareVersions& second);

// Returns whether the condition can affect times on a GPU, and not only times on its host.
bool affects_gpus(const UnequalCondition& condition);

// Returns whether a library of LibTorch reports the condition, so that a program without this library cannot report it.
bool is_reported_by_library(const UnequalCondition& condition);

// Returns the conditions that exactly one of the two sides recorded.
std::vector<std::string> unrecorded_conditions(const Conditions& first, const Conditions& second);

// Returns whether all conditions that must be equal are equal, as far as both sides recorded them.
bool allow_comparison(const Conditions& first, const Conditions& second);

}  // namespace rnnlab
