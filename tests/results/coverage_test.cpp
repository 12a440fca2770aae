// SPDX-License-Identifier: Apache-2.0
// Checks by simulation the claims of docs/timing.md: how often the intervals of a comparison contain the true value,
// and how often equal sides seem to differ, for realistic measurements. Epochs of a process are similar, processes
// differ, the machine drifts. The test takes minutes, runs only with RNNLAB_LONG_RUN in the environment, and prints its
// table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>

#include "base/statistics.h"
#include "results/comparison.h"
#include "results/measuring_order.h"
#include "results/process_times.h"

namespace rnnlab {
namespace {

// Describes how times vary in a measurement. Effects are standard deviations as parts of the time.
struct Cell {
  double run_effect = 0;       // of a process, on all its epochs
  double autocorrelation = 0;  // from one epoch to the next
  double drift = 0;            // how much slower everything is at the measurement's end
  int num_epochs = 0;          // of a process, after warm-up
  int num_runs = 0;            // a side, one a round
  double rare_effect = 0;      // how much slower one process in ten is
};

constexpr double kEpochEffect = 0.02;

// One side of a comparison, with one process in each round. Its times are drawn for each trial.
class Side {
 public:
  Side(const Cell& cell, const std::string& name, double seconds, double noise)
      : cell_(cell), log_seconds_(std::log(seconds)), noise_(noise), runs_(static_cast<size_t>(cell.num_runs)) {
    group_.label = name;
    for (size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].rows.resize(static_cast<size_t>(cell.num_epochs));
      runs_[i].summary.turn = {
          .process = fmt::format("{} {}", name, i), .measurement = "measurement", .round = static_cast<int64_t>(i) + 1};
      group_.runs.push_back(&runs_[i]);
    }
  }

  const RunGroup& group() const { return group_; }

  // `position` is the position in the round: 0 or 1.
  void draw(size_t round, int position, std::mt19937_64& random) {
    const double run_effect = noise_ * cell_.run_effect * normal_(random) + rare_effect(random);
    const int first_epoch = (2 * static_cast<int>(round) + position) * cell_.num_epochs;
    double deviation = normal_(random);
    for (int epoch = 0; epoch < cell_.num_epochs; ++epoch) {
      const double epoch_effect = noise_ * kEpochEffect * deviation;
      const double when = (first_epoch + epoch + 0.5) / (2.0 * cell_.num_runs * cell_.num_epochs);
      EpochRow& row = runs_[round].rows[static_cast<size_t>(epoch)];
      row.train_seconds = std::exp(log_seconds_ + run_effect + epoch_effect + std::log1p(cell_.drift * when));
      const double kept = cell_.autocorrelation;
      deviation = kept * deviation + std::sqrt(1 - kept * kept) * normal_(random);
    }
  }

 private:
  double rare_effect(std::mt19937_64& random) const {
    if (cell_.rare_effect == 0) return 0;
    return random() % 10 == 0 ? std::log1p(cell_.rare_effect) : 0;
  }

  Cell cell_;
  double log_seconds_, noise_;
  std::vector<RunRecord> runs_;
  RunGroup group_;
  std::normal_distribution<double> normal_;
};

// Draws both sides in rounds, as `repeats` measures them.
void measure(Side& a, Side& b, const Cell& cell, std::mt19937_64& random) {
  const uint64_t seed = random();
  for (int round = 0; round < cell.num_runs; ++round) {
    const int position_of_a = order_of_round(seed, round + 1, 2)[0] == 0 ? 0 : 1;
    a.draw(static_cast<size_t>(round), position_of_a, random);
    b.draw(static_cast<size_t>(round), 1 - position_of_a, random);
  }
}

// Counts the part of the trials whose interval contains the true value, and the mean width of the intervals over the
// value.
class Coverage {
 public:
  void add(const Interval& bounds, double truth) {
    ++num_;
    if (bounds.low <= truth && truth <= bounds.high) ++num_covered_;
    width_ += (bounds.high - bounds.low) / truth;
  }
  double part() const { return num_covered_ / num_; }
  double mean_width() const { return width_ / num_; }

 private:
  double num_ = 0, num_covered_ = 0, width_ = 0;
};

struct CellResult {
  Coverage ratio;     // sides of which one is twice as fast and varies half as much
  Coverage equal;     // the ratio of equal sides
  Coverage unpaired;  // the ratio of equal sides, as if they were not of one measurement
  Coverage seconds;   // of one side
};

Interval ratio_bounds(const Side& side, const Side& baseline) {
  const TimeRatio result = time_ratio(side.group(), baseline.group());
  return {result.ratio_low.value(), result.ratio_high.value()};
}

Interval unpaired_bounds(const Side& side, const Side& baseline) {
  return unpaired_ratio(seconds_of(process_times(side.group())), seconds_of(process_times(baseline.group()))).bounds;
}

Interval seconds_bounds(const Side& side) {
  const GroupTime result = time_of(side.group());
  return {result.low_seconds.value(), result.high_seconds.value()};
}

// Returns the geometric mean, over the measurement and all processes, of a side that takes a second at its beginning.
double true_seconds(const Cell& cell) {
  const double log_rare = std::log1p(cell.rare_effect) / 10;
  if (cell.drift == 0) return std::exp(log_rare);
  return std::exp((1 + cell.drift) * std::log1p(cell.drift) / cell.drift - 1 + log_rare);
}

CellResult simulate(const Cell& cell, int num_trials, uint64_t seed) {
  constexpr double kFast = 0.5, kHalf = 0.5;
  std::mt19937_64 random(seed);
  Side baseline(cell, "baseline", 1, 1), equal(cell, "equal", 1, 1), fast(cell, "fast", kFast, kHalf);
  CellResult result;
  for (int trial = 0; trial < num_trials; ++trial) {
    measure(baseline, fast, cell, random);
    result.ratio.add(ratio_bounds(fast, baseline), kFast);
    measure(baseline, equal, cell, random);
    result.equal.add(ratio_bounds(equal, baseline), 1);
    result.unpaired.add(unpaired_bounds(equal, baseline), 1);
    result.seconds.add(seconds_bounds(equal), true_seconds(cell));
  }
  return result;
}

constexpr std::array kRunEffects = {0.0, 0.01, 0.05, 0.2};
constexpr std::array kAutocorrelations = {0.0, 0.7};
constexpr std::array kDrifts = {0.0, 0.1};
constexpr std::array kEpochs = {2, 10, 50};
constexpr std::array kRuns = {3, 4, 5, 7, 10};

struct Simulated {
  Cell cell;
  CellResult result;
};

std::string percent(double part) { return fmt::format("{:.1f}", 100 * part); }

// Returns the text of a cell in one column of a table.
using Text = std::string (*)(const CellResult&);

std::string ratio_text(const CellResult& result) {
  return fmt::format("{} / {} / {}", percent(result.ratio.part()), percent(1 - result.equal.part()),
                     percent(result.equal.mean_width()));
}
std::string unpaired_text(const CellResult& result) {
  return fmt::format("{} / {}", percent(result.unpaired.part()), percent(result.unpaired.mean_width()));
}
std::string seconds_text(const CellResult& result) {
  return fmt::format("{} / {}", percent(result.seconds.part()), percent(result.seconds.mean_width()));
}

// Prints a table with a row for each kind of measurement and a column for each number of runs. The cells have this
// order.
void print_table(const std::string& title, const std::vector<Simulated>& all, Text text) {
  fmt::print("\n{}\n\n| run effect % | autocorrelation | drift % | epochs |", title);
  for (const int num_runs : kRuns) fmt::print(" {} runs |", num_runs);
  fmt::print("\n|---:|---:|---:|---:|{}\n", "---|---|---|---|---|");
  for (size_t i = 0; i < all.size(); ++i) {
    const Cell& cell = all[i].cell;
    if (i % kRuns.size() == 0)
      fmt::print("| {:.0f} | {} | {:.0f} | {} |", 100 * cell.run_effect, cell.autocorrelation, 100 * cell.drift,
                 cell.num_epochs);
    fmt::print(" {} |{}", text(all[i].result), (i + 1) % kRuns.size() == 0 ? "\n" : "");
  }
}

// Returns the smallest and the largest value over the cells that `belongs` selects.
std::string range_text(const std::vector<Simulated>& all, const std::function<bool(const Cell&)>& belongs,
                       double (*number)(const CellResult&)) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const auto& [cell, result] : all) {
    if (!belongs(cell)) continue;
    least = std::min(least, number(result));
    most = std::max(most, number(result));
  }
  return percent(least) + " .. " + percent(most);
}

// Prints the table of docs/timing.md.
void print_summary(const std::vector<Simulated>& all) {
  fmt::print(
      "\n| run effect % | drift % | ratio covers % | equal sides differ % | seconds cover % | width of 3 runs % | of 5 "
      "| "
      "of 10 |\n|---:|---:|---|---|---|---|---|---|\n");
  for (const double run_effect : kRunEffects)
    for (const double drift : kDrifts) {
      const auto alike = [&](const Cell& cell) { return cell.run_effect == run_effect && cell.drift == drift; };
      fmt::print("| {:.0f} | {:.0f} | {} | {} | {} |", 100 * run_effect, 100 * drift,
                 range_text(all, alike, [](const CellResult& result) { return result.ratio.part(); }),
                 range_text(all, alike, [](const CellResult& result) { return 1 - result.equal.part(); }),
                 range_text(all, alike, [](const CellResult& result) { return result.seconds.part(); }));
      for (const int num_runs : {3, 5, 10}) {
        const auto has_runs = [&](const Cell& cell) { return alike(cell) && cell.num_runs == num_runs; };
        fmt::print(" {} |", range_text(all, has_runs, [](const CellResult& r) { return r.equal.mean_width(); }));
      }
      fmt::print("\n");
    }
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const double run_effect : kRunEffects)
    for (const double autocorrelation : kAutocorrelations)
      for (const double drift : kDrifts)
        for (const int num_epochs : kEpochs)
          for (const int num_runs : kRuns)
            cells.push_back({.run_effect = run_effect,
                             .autocorrelation = autocorrelation,
                             .drift = drift,
                             .num_epochs = num_epochs,
                             .num_runs = num_runs});

  return cells;
}

void expect_honest(const CellResult& result) {
  constexpr double kLeast = 0.93;
  EXPECT_GE(result.ratio.part(), kLeast);
  EXPECT_GE(result.equal.part(), kLeast);  // so equal sides differ in at most 7 %
  EXPECT_GE(result.unpaired.part(), kLeast);
  EXPECT_GE(result.seconds.part(), kLeast);
}

// The order of the rounds removes a drift from the ratio, but not from the spread of the rounds, so intervals are wider
// than necessary; docs/timing.md states by how much. Welch's interval of three runs is a little too wide without a
// drift, too.
void expect_narrow(const CellResult& result) {
  constexpr double kMost = 0.97, kMostByWelch = 0.975;
  EXPECT_LE(result.ratio.part(), kMost);
  EXPECT_LE(result.equal.part(), kMost);
  EXPECT_LE(result.seconds.part(), kMost);
  EXPECT_LE(result.unpaired.part(), kMostByWelch);
}

TEST(CoverageProof, IntervalsHoldTheTruthAsOftenAsTheySay) {
  if (std::getenv("RNNLAB_LONG_RUN") == nullptr) GTEST_SKIP() << "takes minutes: RNNLAB_LONG_RUN=1";
  constexpr int kTrials = 10000;
  std::vector<Simulated> all;
  for (const Cell& cell : all_cells()) {
    const CellResult& result = all.emplace_back(Simulated{cell, simulate(cell, kTrials, all.size() + 1)}).result;
    SCOPED_TRACE(fmt::format("run effect {}, autocorrelation {}, drift {}, {} epochs, {} runs", cell.run_effect,
                             cell.autocorrelation, cell.drift, cell.num_epochs, cell.num_runs));
    expect_honest(result);
    if (cell.drift == 0) expect_narrow(result);
  }
  print_table("Ratio: covers / equal sides differ / width, %", all, ratio_text);
  print_table("Ratio of sides measured apart, equal: covers / width, %", all, unpaired_text);
  print_table("Seconds of a side: covers / width, %", all, seconds_text);
  print_summary(all);
}

// Measures rounds of two equal sides until the interval of their ratio was narrow enough after three successive rounds,
// as `repeats: {until: 1 %, at_most: 20}` does. `round_effect` is the standard deviation of the logarithms of the
// rounds' ratios.
Interval bounds_at_precision(double round_effect, std::mt19937_64& random) {
  constexpr int kMost = 20;
  constexpr double kUntil = 0.01;
  std::normal_distribution<double> normal;
  std::vector<double> ratios, ones;
  MeanEstimate ratio;
  for (int num_narrow = 0; std::ssize(ratios) < kMost && num_narrow < kSuccessivePreciseRounds;) {
    ratios.push_back(std::exp(round_effect * normal(random)));
    ones.push_back(1);
    if (std::ssize(ratios) < kMinProcessesForVerdict) continue;
    ratio = paired_ratio(ratios, ones);
    const bool is_narrow = ratio.bounds.high - ratio.bounds.low <= 2 * kUntil * ratio.value;
    num_narrow = is_narrow ? num_narrow + 1 : 0;
  }
  return ratio.bounds;
}

TEST(Coverage, StandsABoundOfPrecision) {
  constexpr int kTrials = 10000;
  std::mt19937_64 random(11);
  for (const double round_effect : {0.005, 0.01, 0.015, 0.02, 0.03}) {
    Coverage equal;
    for (int trial = 0; trial < kTrials; ++trial) equal.add(bounds_at_precision(round_effect, random), 1);
    EXPECT_GE(equal.part(), 0.927) << "rounds differ by " << round_effect << ": .93, and what 10,000 trials miss";
  }
}

// No interval of one side's time contains the effect of a rare process that most measurements did not include.
TEST(CoverageProof, RareProcessesSpoilTheTimesOfASideButNotTheRatio) {
  if (std::getenv("RNNLAB_LONG_RUN") == nullptr) GTEST_SKIP() << "takes minutes: RNNLAB_LONG_RUN=1";
  constexpr int kTrials = 10000;
  for (const int num_runs : kRuns) {
    const CellResult result =
        simulate({.run_effect = 0.01, .num_epochs = 10, .num_runs = num_runs, .rare_effect = 0.2}, kTrials, 7);
    fmt::print("one process in ten 20 % slower, {} runs: equal sides differ in {} %, seconds cover in {} %\n", num_runs,
               percent(1 - result.equal.part()), percent(result.seconds.part()));
    EXPECT_GE(result.equal.part(), 0.93);
  }
}

// This short version has the cells in which an interval over pooled epochs covers the true value in 12 to 40 %.
TEST(Coverage, IsThatOfProcessesThatDiffer) {
  constexpr int kTrials = 1000;
  for (const int num_epochs : {2, 20}) {
    const CellResult result = simulate({.run_effect = 0.05, .num_epochs = num_epochs, .num_runs = 5}, kTrials, 7);
    EXPECT_NEAR(result.ratio.part(), 0.95, 0.02);
    EXPECT_NEAR(result.equal.part(), 0.95, 0.02);
    EXPECT_NEAR(result.seconds.part(), 0.95, 0.02);
  }
}

// Pairing and the reversed order of the second round remove a drift from the ratio.
TEST(Coverage, IsNotSpoiltByDrift) {
  constexpr int kTrials = 1000;
  const Cell cell = {.run_effect = 0.01, .drift = 0.1, .num_epochs = 10, .num_runs = 10};
  const CellResult result = simulate(cell, kTrials, 7);
  EXPECT_NEAR(result.equal.part(), 0.95, 0.02);
  EXPECT_LT(result.equal.mean_width(), result.unpaired.mean_width() / 2);
}

}  // namespace
}  // namespace rnnlab
