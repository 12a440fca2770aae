// Under which conditions a run or a benchmark was measured: what of its environment.json bears on times. The one list
// of them says which must be equal, which is worth a warning where it differs, and which is only told. What one side
// did not record is not held against it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/environment.h"

namespace rnnlab {

// "" or 0: not recorded, or there is none.
struct Conditions {
  std::string machine_id;
  std::string cpu_flags;  // its vector instructions, by the kernel
  int64_t usable_cpus = 0;
  std::optional<int64_t> usable_cores;  // that these CPUs are threads of
  std::string cpu_quota;
  int64_t memory_bytes = 0;  // that the process might use
  InstructionSets instruction_sets;
  std::optional<Variables> variables;
  std::string driver;
  std::string kernel;
  std::string libtorch;  // as loaded, with the revision of its sources
  std::string compiler;
  std::string sources;  // revision of rnnlab, and whether they were changed
  std::string program_id;
  std::string cpu_frequency;    // who chooses it
  std::string gpu_power_limit;  // "700 W"; of several GPUs "600 W, 700 W"
  std::string huge_pages;
  std::optional<int64_t> nice;

  friend bool operator==(const Conditions&, const Conditions&) = default;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("machine_id", self.machine_id);
    field("cpu_flags", self.cpu_flags);
    field("usable_cpus", self.usable_cpus);
    field("usable_cores", self.usable_cores, kWhereGiven);
    field("cpu_quota", self.cpu_quota);
    field("memory_bytes", self.memory_bytes);
    field("instruction_sets", self.instruction_sets);
    field("variables", self.variables);
    field("driver", self.driver);
    field("kernel", self.kernel);
    field("libtorch", self.libtorch);
    field("compiler", self.compiler);
    field("sources", self.sources);
    field("program_id", self.program_id);
    field("cpu_frequency", self.cpu_frequency);
    field("gpu_power_limit", self.gpu_power_limit);
    field("huge_pages", self.huge_pages);
    field("nice", self.nice);
  }
};

Conditions conditions_of(const Environment& environment);

// What is to be done where two sides differ in a condition.
enum class OnUnequal { kRefuse, kWarn, kNote };

// One condition: what it is called, and its value in words; "" where it was not recorded.
struct ConditionField {
  const char* what;
  OnUnequal on_unequal;
  std::string (*text)(const Conditions&);
};
std::span<const ConditionField> condition_fields();

// Whether the two have the same value, as far as it bears on times.
bool are_equal(const ConditionField& field, const Conditions& a, const Conditions& b);

// In which two sides differ, each by its own value. Variables are told one by one.
struct UnequalCondition {
  const char* what;
  OnUnequal on_unequal;
  std::string first, second;
};
std::vector<UnequalCondition> unequal_conditions(const Conditions& first, const Conditions& second);

// Whether times on a GPU may depend on it, and not only those of its host.
bool bears_on_gpus(const UnequalCondition& condition);

// Whether a library of LibTorch tells it, so that a program without that library cannot.
bool is_told_by_a_library(const UnequalCondition& condition);

// The conditions that one of the two recorded and the other did not.
std::vector<std::string> unrecorded_conditions(const Conditions& first, const Conditions& second);

// Whether what must be equal is so, as far as both recorded it.
bool allow_comparison(const Conditions& first, const Conditions& second);

}  // namespace rnnlab
