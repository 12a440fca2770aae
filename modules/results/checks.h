// SPDX-License-Identifier: Apache-2.0
// Checks runs for reasons to doubt their times: files that contradict each other, an early end, and warnings that
// follow from the rows and the environment. comparability.h decides whether two groups can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/warning.h"
#include "results/epoch_row.h"
#include "results/run_record.h"

namespace rnnlab {

// ---- consistency, ends and quality of runs (checks.cpp) ----

// A run's folder contradicts itself if its summary differs from its rows, if its clocks disagree, or if recorded
// hardware differs from `environment.json`. A bug in the timing or an edited file causes this. An unchanged run of this
// program is consistent.

// Returns one sentence for each contradiction between the files, with its topic before the first colon; empty if the
// files agree.
std::vector<Warning> check_consistency(const RunRecord& run);

// A run ends as its settings require, or earlier. A run that ended early is compared, because the times of its epochs
// are valid, but all outputs mark it. It is the baseline only if the user chooses it or no run is complete.

bool is_complete(const RunGroup& group);

// Returns "complete", "interrupted" or "diverged": the worst of several runs, with their number, such as "1 of 3
// diverged".
std::string ending_text(const RunGroup& group);

// Returns one sentence for each run that is not complete.
std::vector<Warning> ending_warnings(const RunGroup& group);

// The following functions warn about the times of one group of runs.

// Warns about a debug build, a busy or throttled machine, a run that had to wait, a warm-up epoch that counts, and
// files of a run's folder that contradict each other.
std::vector<GroupFinding> quality_warnings(const RunGroup& group);

// Returns the sets of subjects in the findings on these groups, the largest first: all runs, all groups, and the runs
// of each group ("all 5 runs of cpu naive").
std::vector<NamedSet> sets_of_runs(const std::vector<RunGroup>& groups);

// Warns if the seeds of a group have different numbers of runs: a seed that was run twice is not a second sample of the
// seeds.
std::vector<GroupFinding> unequal_seeds(const RunGroup& group);

// Returns notes that name the pooled runs.
std::vector<std::string> pooling_notes(const RunGroup& group);

// Names the folders that were left out as copies; nothing if there are none.
std::optional<Warning> copies_warning(const RunGroup& group);

// Returns a note if several runs count as one process because their files do not record the process.
std::vector<GroupFinding> process_notes(const RunGroup& group);

// Names the groups whose losses and metrics are of fewer than three seeds; "" if there are none. Times are not
// mentioned, because they depend on the process, not on the seed.
std::string few_seeds_note(const std::vector<RunGroup>& groups);

// Returns whether the first epoch counts for the medians.
bool counts_warmup(const RunRecord& run);

// ---- waiting (waiting.cpp) ----

// The following functions detect runs and processes that waited: for a CPU, for data, for a quota, or for the slowest
// process of a run.

// The counters that the system recorded with the epoch times (base/system/counters.h) show whether a run had the CPUs
// that it needed. A run that was stopped, held by a quota or kept waiting by other processes is slow for external
// reasons.

// Checks the epochs that count. Warns if the kernel's clock disagrees, if a quota or a hypervisor held the CPUs for a
// twentieth of the time that they were needed, or if the process computed less than expected. On a CPU some thread
// always computes; the host of a GPU may wait, but equally in all epochs. Returns nothing for epochs without these
// counters. Messages call the rows `spans`.
std::vector<Warning> waiting_warnings(std::span<const EpochRow> rows, const std::string& device, int64_t num_threads,
                                      std::string_view spans = "epochs");

// Returns findings on runs that computed clearly less for each second of their epochs than the other runs of the group:
// such runs were stopped or kept waiting throughout. At least three runs are needed to identify the exception.
std::vector<GroupFinding> waiting_within(const RunGroup& group);

// Returns a finding on a side whose process got clearly less CPU time for its wall time than the other side's process,
// if both sides are runs of rnnlab on a GPU.
std::vector<GroupFinding> waiting_between(const RunGroup& baseline, const RunGroup& group);

// The processes of a run make each update together, so all of them wait for the slowest process.

// Returns the median, over the epochs that count, of the slowest process's seconds over the fastest's, without the
// exchange. Returns nothing for a run of one process.
std::optional<double> slowest_over_fastest(std::span<const EpochRow> rows);

// Returns the median, over the epochs that count, of the part of train_seconds that the slowest process spent in the
// exchange without overlap. Returns nothing if the exchange was not measured.
std::optional<double> exchange_share(std::span<const EpochRow> rows);

// Warns if the slowest process is more than 5 % slower than the fastest process.
std::vector<Warning> straggler_warnings(std::span<const EpochRow> rows);

// ---- the shape of times (time_shape.cpp) ----

// The following functions detect outliers, trends, two modes and further shapes of epoch times that make a median
// doubtful, and warn about them.

// The shape of a few times can show that they are doubtful, for any median: a first time that is not warm yet, an
// outlier, a drift, two kinds of times with a gap between them, and times that are all equal, which no clock measures.
// The functions are pure and take positive times in the order of their measurement. All functions except are_all_equal
// use logarithms, so that twice as long has the same weight as half as long. For correct times, lognormal with a spread
// of 2 to 30 %, fewer than 1 % of the runs get a warning (time_shape_test.cpp).

// Returns whether there are at least three times, all equal to the last digit.
bool are_all_equal(std::span<const double> seconds);

// Returns whether the first of at least four times is the longest, is 1.75 times the median of the others, and exceeds
// all others by more than three times their range.
bool is_first_cold(std::span<const double> seconds);

// Returns the index of the time that is furthest from the median of at least five times, if it differs by more than a
// factor of two and by more than 15 scaled median absolute deviations. Otherwise returns nothing.
std::optional<size_t> find_outlier(std::span<const double> seconds);

// Returns the last time over the first time on the line of Theil and Sen (1968), whose slope is the median slope of all
// pairs. Returns nothing unless there is a trend: p below .001 by Kendall's rank correlation with time (from seven
// times on, exact up to 50), a change of more than 5 %, and of more than five times the noise around the line, because
// an event over several epochs is not yet a drift.
std::optional<double> find_trend(std::span<const double> seconds);

// Describes two kinds of times, each with its number and its median.
struct TwoModes {
  size_t num_short = 0, num_long = 0;
  double short_seconds = 0, long_seconds = 0;
};

// Returns nothing unless each kind has at least three times, and the gap between the kinds is more than 10 % and more
// than three times as wide as each kind itself.
std::optional<TwoModes> find_two_modes(std::span<const double> seconds);

// Warns about the epochs that count. An epoch that is reported as not warm or as an outlier is left out of the later
// checks.
std::vector<Warning> shape_warnings(std::span<const EpochRow> rows);

// Warns about the processes' times, in the order in which the processes ran.
std::vector<Warning> shape_warnings(const RunGroup& group);

// ---- losses (loss_agreement.cpp) ----

// LossAgreement measures how far the losses of two groups of runs agree if both groups compute the same function from
// the same weights on the same batches. This checks that a comparison of times compares the same work. Rounding alone
// makes the losses differ, and training amplifies the differences. An interrupted epoch does not count.

// The values are of train_loss, epoch by epoch, in all pairs of runs with equal seeds.
struct LossAgreement {
  int64_t num_epochs = 0;         // epochs of the pair that differs most
  double largest_difference = 0;  // relative to the larger of the two losses' magnitudes
  int64_t epoch = 0;              // epoch of the largest difference
  double first_difference = 0;    // in the first epoch, before training amplifies rounding

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("num_epochs", self.num_epochs);
    field("largest_difference", self.largest_difference);
    field("epoch", self.epoch);
    field("first_difference", self.first_difference);
  }
};

// Returns nothing if no two runs of one seed have the same data, order, batch size, model, initial weights and training
// settings.
std::optional<LossAgreement> loss_agreement(const RunGroup& baseline, const RunGroup& group);

// Returns a text such as "agree to 6 digits in the first epoch, agree to 4 digits over 50 epochs (largest relative
// difference 2.1e-05, at epoch 37)" or "are equal over 50 epochs".
std::string agreement_text(const LossAgreement& agreement);

// The losses of one epoch of two runs, which differ by more than rounding explains.
struct DifferingLosses {
  const RunRecord *first_run, *second_run;
  int64_t epoch = 0;
  double first = 0, second = 0;
};

// Compares two groups of one precision. Returns nothing if dropout may draw different masks: on a CPU and a GPU, or
// with two kinds of convolution. Each of these differences is more than rounding:
// - the first epoch, of at most 50 updates, differs by more than 0.1 % in fp32, 1 % in tf32 and fp16, 2 % in bf16;
// - the first epoch, of at most 100 updates, differs by more than ten times these bounds, or by more than a fifth;
// - the first epoch, of more updates, differs by more than a fifth, because training amplifies rounding;
// - all of at least five epochs differ by one factor, above the bound of the precision and five times its deviation;
// - half of the later epochs differ by a factor of more than 1.5 in one direction. Losses below a hundredth of the
//   first epoch's do not count there, because rounding affects most of their digits.
std::optional<DifferingLosses> differing_losses(const RunGroup& baseline, const RunGroup& group);

// Returns the first epoch in which two runs of one group and one seed differ at all although `deterministic` is on.
std::optional<DifferingLosses> unequal_repeated_losses(const RunGroup& group);

}  // namespace rnnlab
