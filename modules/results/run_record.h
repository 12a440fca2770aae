// A run as its folder tells it: settings, summary, environment and rows; runs in their order, without copies, and
// groups of runs that did the same work.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/environment.h"
#include "results/epoch_row.h"
#include "results/summary.h"
#include "system/warning.h"

namespace rnnlab {

// A finished run as it is read back from its folder, and the pooling of runs that are the same work.

struct RunRecord {
  std::filesystem::path folder;
  std::string started;                        // "2026-11-21T02:59:51.079Z"; without a log to the second
  std::map<std::string, std::string> config;  // by dotted key
  Environment environment;
  Summary summary;
  std::vector<EpochRow> rows;
  std::vector<Warning> changed = {};  // in its files since it ended (run_record.h)
};

// UserError kUsage when `folder` is not a finished run's folder, kData when a file in it is damaged.
RunRecord load_run(const std::filesystem::path& folder);

// The program that trained the run, if it is another one: "PyTorch 2.11.0"; "" for rnnlab.
const std::string& other_program(const RunRecord& run);

// Whether it trained on a GPU.
bool is_on_gpu(const RunRecord& run);

// When the run began, in seconds since 1970; nothing if its files do not tell.
std::optional<double> start_in_seconds(const RunRecord& run);

// Runs that differ in nothing but the seed (and what follows from it), in the order of their sweep (run_record.h).
// A condition of the machine that one of them did not record does not part them.
struct RunGroup {
  std::string label;  // "cpu naive batch_size=64": device, layer and every setting in which the groups differ; with the
                      // experiment's name, or the folder instead, where that would not be unique; "cpu PyTorch 2.11.0"
  std::vector<const RunRecord*> runs;
  std::vector<const RunRecord*> copies = {};  // of `runs`, by their folders; they count for nothing (run_record.h)
  std::map<const RunRecord*, std::string> names = {};  // of `runs`, see folder_name
};

// How a line with several runs calls the folder of one of the group: by its last name, and by its whole path where
// another run of the comparison has that name too.
std::string folder_name(const RunRecord& run, const RunGroup& group);

// Whether another program than rnnlab trained the runs of at least one of the groups.
bool involve_other_program(const RunGroup& a, const RunGroup& b);

// Groups in the order of their first run. `runs` must outlive them.
std::vector<RunGroup> group_runs(const std::vector<RunRecord>& runs);

// The keys of config.yaml in which the groups differ, beyond what every label has: name, seed, device and layer.
std::vector<std::string> differing_settings(const std::vector<RunGroup>& groups);

// Of all runs, one after another.
std::vector<EpochRow> all_rows(const RunGroup& group);

// The training samples of an epoch that counts: the first after warm-up. Nothing if there is none, or it took none.
std::optional<double> samples_an_epoch(const RunRecord& run);
// Of the first run that has one.
std::optional<double> samples_an_epoch(const RunGroup& group);

// The training seconds of all epochs after warm-up.
std::vector<double> timed_seconds(const RunGroup& group);

// Ascending, each once.
std::vector<int64_t> seeds(const RunGroup& group);

// Folders that were copied: the same run twice is no second measurement.

// Whether both are one run: of one process, begun at the same time and equal in every number of every epoch. Before
// version 3, which did not record the process, the settings must be equal too.
bool is_copy(const RunRecord& a, const RunRecord& b);

// The order in which runs are shown and the first of them is the baseline: that of their sweep, whatever order the
// names of their folders give, so that every table of a sweep begins with the same run.

// Runs stay where they were named, but those of one measurement come by their number in the sweep, and those of one
// experiment that began in one second by the moment of their start: the folders of one second are named by device and
// layer.
std::vector<const RunRecord*> in_order_of_sweeps(const std::vector<RunRecord>& runs);

// "2026-11-21T02:59:51.079Z", when the log of the run's folder begins; "" where there is none.
std::string start_by_log(const std::filesystem::path& folder);

// What in a run's folder was changed after the run had ended: each file is held against its seal in summary.json, and
// the summary against its own. Folders of before version 3 have no seals; of them only the two files with the rows are
// held against each other.

// `run` as it was read from `folder`. Nothing where all is as it was written. UserError kData where a file that is
// there cannot be read.
std::vector<Warning> changed_files(const std::filesystem::path& folder, const RunRecord& run);

}  // namespace rnnlab
