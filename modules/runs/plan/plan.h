// SPDX-License-Identifier: Apache-2.0
// Makes the plan of a sweep over machines: its cases, their order in rounds, and the command lines that start its tasks
// under a scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/config/enum_names.h"
#include "base/fields.h"
#include "base/system/files.h"

namespace rnnlab {

// The plan of a sweep on which several processes or machines work is the file <folder>/sweep.json. The plan has every
// run with its number and its folder, is written once and never changed, and ends with a hash of itself
// (base/system/json_fields.h). The results of a run are in the folder of the run, so workers share no data that must be
// merged.
//
// A task is the unit that one worker takes at a time. Tasks count from 0. By default a task is one round of all sides
// of a comparison, so these sides run on one machine, one immediately after the other.

inline constexpr const char* kPlanFile = "sweep.json";
inline constexpr const char* kClaimsFolder = "claims";

// Says what a task contains.
enum class Spread {
  kRuns,        // one run; uses any number of machines, but sides of a comparison may run on different ones
  kRounds,      // one round of all sides of a comparison
  kComparisons  // all rounds of all sides of a comparison
};

RNNLAB_ENUM_NAMES(Spread, {kRuns, "runs"}, {kRounds, "rounds"}, {kComparisons, "comparisons"});

struct PlannedCase {
  std::string label;       // "device=cpu layer=naive"
  std::string experiment;  // as YAML

  RNNLAB_FIELDS(label, experiment)
};

struct PlannedRun {
  std::string folder;       // within the folder of the plan: "0007-layer=naive"
  int64_t case_number = 0;  // from 1
  int64_t round = 0;        // from 1; 0 if the sides of a round may run on different machines
  int64_t position = 0;     // within the round of its comparison, from 1; 0 as above

  RNNLAB_FIELDS(folder, case_number, round, position)
};

struct PlannedTask {
  std::vector<PlannedRun> runs;  // in the order in which they run

  RNNLAB_FIELDS(runs)
};

struct SweepPlan {
  int64_t schema_version = kFileVersion;
  std::string measurement;  // a random name; the order of the runs follows from it
  Spread spread = Spread::kRounds;
  std::vector<std::string> command_line;
  std::vector<PlannedCase> cases;
  std::vector<PlannedTask> tasks;
  std::vector<std::string> hardware = {};  // which a machine must have to run tasks (hardware_here()); empty: any
  std::string hash = {};                   // of the file; not in the field list

  RNNLAB_FIELDS(schema_version, measurement, spread, command_line, cases, tasks, where_given(hardware))

  const PlannedCase& case_of(const PlannedRun& run) const { return cases.at(static_cast<size_t>(run.case_number - 1)); }
  int64_t num_tasks() const { return std::ssize(tasks); }
  int64_t num_runs() const;
};

// Describes one case for make_tasks, in the order of the plan.
struct PlanSide {
  std::string label;
  std::string comparison;  // equal for sides whose times may be compared
  int64_t num_rounds = 1;
};

// Tasks of the first round come first. The runs of a task have the drawn order of their round.
std::vector<PlannedTask> make_tasks(const std::vector<PlanSide>& sides, Spread spread, const std::string& measurement);

// Returns the name of a run's folder: "0007-layer=naive", or "0007.2-layer=naive" for the second run of a task with
// several runs. Bytes of the label that a shell would require to be quoted become '_'.
std::string folder_of_run(int64_t task, size_t position, size_t num_runs, const std::string& label);

// Returns "0007" for task 7, as in names of files.
std::string name_of_task(int64_t task);

// Creates the folder, which must be empty or missing, and writes its plan and the folder of its claims. Returns the
// hash. Throws UserError kUsage if the folder contains files, kDevice if something cannot be written.
std::string write_plan(const std::filesystem::path& folder, const SweepPlan& plan);

// Throws UserError kUsage if there is no plan, kData if it was changed or cannot be read.
SweepPlan read_plan(const std::filesystem::path& folder);

// Returns what `--pin` writes into a plan: the model of this machine's CPU, and its GPUs, such as "8 x NVIDIA H200" or
// "no NVIDIA GPU". Throws UserError kDevice if the CPU's model is unknown.
std::vector<std::string> hardware_here();

// Returns whether this machine has the hardware of the plan. A model of GPU, such as "NVIDIA H200", stands for any
// number of them.
bool has_hardware(const SweepPlan& plan);

// Throws UserError kDevice if this machine lacks some of the hardware.
void require_hardware(const SweepPlan& plan);

// Returns commands that run the tasks of a plan with the tools of a user: this machine, xargs, GNU parallel, a Slurm
// array. Each tool only has to count. The commands are indented, one a line; `folder` is as the user wrote it.
std::string launch_commands(const std::string& folder, int64_t num_tasks);

}  // namespace rnnlab
