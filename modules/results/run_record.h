// SPDX-License-Identifier: Apache-2.0
// Reads a run from its folder: settings, summary, environment and rows. Sorts runs, leaves out copies, groups runs of
// the same work, and reports files that changed after the run.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/system/warning.h"
#include "results/environment.h"
#include "results/epoch_row.h"
#include "results/summary.h"
#include "results/work_settings.h"

namespace rnnlab {

// Holds a finished run as it is read from its folder.
struct RunRecord {
  std::filesystem::path folder;
  std::string started;                        // "2026-11-21T02:59:51.079Z"; to the second if the log is missing
  std::map<std::string, std::string> config;  // by dotted key
  Environment environment;
  Summary summary;
  std::vector<EpochRow> rows;
  Settings own_cell = {};             // the equations in `model.cell` that name_own_cells replaced, by dotted key
  std::vector<Warning> changed = {};  // changes of its files after its end (changed_files)
};

// Throws UserError kUsage if `folder` is not the folder of a finished run, kData if a file in it is damaged.
RunRecord load_run(const std::filesystem::path& folder);

// Returns the program that trained the run, if it was not rnnlab: "PyTorch 2.11.0"; otherwise "".
const std::string& other_program(const RunRecord& run);

// Returns "rnnlab" or the other program.
std::string program_of(const RunRecord& run);

// Returns whether the run trained on a GPU.
bool is_on_gpu(const RunRecord& run);

// Returns the rows without an interrupted last epoch, whose training loss is that of its first batches, and which has
// no validation.
std::span<const EpochRow> whole_epochs(const RunRecord& run);

// Returns the epoch that training called the best: by training.early_stopping, or else by the loss of the validation
// (quality.h). Null if no whole epoch has the metric.
const EpochRow* best_epoch_of(const RunRecord& run);

// Returns the row of the epoch whose weights `predict` and `evaluate` use: the best of the whole epochs by
// training.early_stopping, or else by the loss of the validation (train/loop/stopping.h), if the run keeps it
// (checkpoint.best). Nothing if the run keeps no such epoch, and for runs of other programs.
std::optional<EpochRow> best_row(const RunRecord& run);

// Returns the advice to train longer if the run ended with training.epochs while it still improved: its best epoch is
// the last, and the gain of that epoch is at least a hundredth of the gain of all. Nothing for a run without
// validation, of one epoch, or one that already reached what it trains for.
std::optional<std::string> train_longer_advice(const RunRecord& run);

// Returns a time such as "2026-11-21T02:59:51.079Z" in seconds since 1970; nothing if the text is not a time.
std::optional<double> seconds_since_1970(const std::string& time);

// Returns the start of the run in seconds since 1970; nothing if its files do not record the start.
std::optional<double> start_in_seconds(const RunRecord& run);

// Returns whether the summary has the hashes of work_hashes. Before version 3 it had hashes of the printed text with
// its comments.
bool has_work_hashes(const Summary& summary);

// Returns hashes of the same kind for two runs: those of their summaries, or those of their settings if only one
// summary is of an old version.
std::pair<WorkHashes, WorkHashes> comparable_hashes(const RunRecord& a, const RunRecord& b);

// ---- runs that were divided among several devices ----

// Returns the number of devices among which the run was divided, with one process each; 1 for a process that trained
// alone.
int64_t num_devices(const RunRecord& run);

// Returns the samples of an update for each device, or their mean if the batch cannot be divided evenly.
double samples_a_device(const RunRecord& run);

// Returns the engine, such as "gloo"; "" for a process that trained alone.
std::string exchange_engine(const RunRecord& run);

// Returns whether the run was resumed on a different number of devices, so that its epochs ran on several numbers.
bool has_changed_devices(const RunRecord& run);

// Returns "used" or "not used", for CUDA graphs of steps. A run may have requested graphs without getting them; the
// settings do not show this.
std::string graphs_text(const RunRecord& run);

// Returns "cpu" or "cuda", without the number of the device.
std::string kind_of_device(const RunRecord& run);

// Returns whether each process of both runs has the same number of threads.
bool have_equal_threads(const RunRecord& a, const RunRecord& b);
// Returns whether runs on different numbers of devices have the same number of threads in total, except for rounding.
bool have_equal_total_threads(const RunRecord& a, const RunRecord& b);

// Returns whether both runs did the same work with the same batch size in the same way, so that only the number of
// devices and its consequences (threads of a process) differ. False for a run whose number of devices changed, and for
// runs of other programs.
bool differ_only_in_devices(const RunRecord& a, const RunRecord& b);

// ---- groups of runs (run_groups.cpp) ----

// Runs that differ only in the seed (and its consequences), in the order of in_order_of_sweeps. A condition of
// the machine that one run did not record does not separate runs.
struct RunGroup {
  std::string label;  // "cpu naive batch_size=64": device, layer and every setting in which the groups differ; with the
                      // experiment's name, or the folder instead, if labels would not be unique; "cpu PyTorch 2.11.0"
  std::vector<const RunRecord*> runs;
  std::vector<const RunRecord*> copies = {};           // copies of `runs`, by their folders; not counted
  std::map<const RunRecord*, std::string> names = {};  // of the folders of `runs`, see folder_name
};

// Returns the name of a run's folder in a message about several runs: its last name, or its whole path if another run
// of the comparison has the same last name.
std::string folder_name(const RunRecord& run, const RunGroup& group);

// Returns whether a program other than rnnlab trained the runs of at least one of the groups.
bool involve_other_program(const RunGroup& a, const RunGroup& b);

// Returns groups in the order of their first run. `runs` must outlive the groups.
std::vector<RunGroup> group_runs(const std::vector<RunRecord>& runs);

// Returns groups without labels. A run that is not a copy joins the first group to which it belongs, else a new one.
using Belongs = std::function<bool(const RunGroup& group, const RunRecord& run)>;
std::vector<RunGroup> group_by(const std::vector<RunRecord>& runs, const Belongs& belongs);

// Return the keys of config.yaml in which the groups differ, except name, seed, device and layer, which labels contain;
// differing_settings leaves out those that only name the layer again.
std::vector<std::string> unequal_settings(const std::vector<RunGroup>& groups);
std::vector<std::string> differing_settings(const std::vector<RunGroup>& groups);

// Returns the last part of a key: "batch_size"; the whole key if another one of `keys` has the same last part.
std::string short_key(const std::string& key, const std::vector<std::string>& keys);

// Returns the rows of all runs, one run after another.
std::vector<EpochRow> all_rows(const RunGroup& group);

// Returns the training samples of the first epoch after warm-up that has samples; nothing if there is no such epoch.
std::optional<double> samples_an_epoch(const RunRecord& run);
// Returns the samples of the first run with such an epoch.
std::optional<double> samples_an_epoch(const RunGroup& group);

// Returns the training seconds of all epochs after warm-up.
std::vector<double> timed_seconds(const RunGroup& group);

// Returns the seeds in ascending order, each once.
std::vector<int64_t> seeds(const RunGroup& group);

// Returns whether both records are of one run, because a copied folder is not a second measurement. One run has one
// process, one start, and equal numbers in every epoch. Before version 3, which did not record the process, the
// settings must be equal, too.
bool is_copy(const RunRecord& a, const RunRecord& b);

// Returns the runs in the order in which they are shown; the first run is the baseline by default. Runs keep their
// order, except that runs of one measurement are sorted by their number in the sweep, and runs of one experiment that
// began in one second by the moment of their start. So every table of a sweep begins with the same run, although the
// names of the folders of one second are sorted by device and layer.
std::vector<const RunRecord*> in_order_of_sweeps(const std::vector<RunRecord>& runs);

// Returns the time at which the log of the run's folder begins, "2026-11-21T02:59:51.079Z"; "" if the log is missing.
std::string start_by_log(const std::filesystem::path& folder);

// Returns what was changed in a run's folder after the run had ended; empty if nothing was changed. Each file is
// compared with its seal in summary.json, and the summary with its own seal. Folders before version 3 do not have
// seals; for them only the two files with the rows are compared with each other. `run` must have been read from
// `folder`. Throws UserError kData if an existing file cannot be read.
std::vector<Warning> changed_files(const std::filesystem::path& folder, const RunRecord& run);

}  // namespace rnnlab
