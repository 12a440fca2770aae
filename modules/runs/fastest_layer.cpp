// SPDX-License-Identifier: Apache-2.0
#include "runs/fastest_layer.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "layers/device/gpu_support.h"
#include "runs/devices.h"
#include "runs/failure.h"
#include "train/loop/cuda_functions.h"
#include "train/loop/determinism.h"
#include "train/loop/device_rates.h"
#include "train/loop/profiling.h"
#include "train/loop/train_step.h"

namespace rnnlab {

Batch first_batch(const Samples& train, const TrainerOptions& options) {
  const int64_t size = std::min(options.settings.batch_size, train.size());
  const Samples samples = take_first(train, size, "num_train", "the training part");
  Batches batches(samples, {.batch_size = size, .order = Order::kSequential}, options.device);
  batches.start_epoch(0);
  return batches.next().value();
}

namespace {

using Clock = std::chrono::steady_clock;

// A smaller gain is not worth a number of threads that makes the runs incomparable with those of a quiet machine.
constexpr double kClearlyFaster = 2;

// Takes about a tenth of a millisecond, because each addition waits for the one before it.
void work_for_a_moment() {
  volatile double sum = 0;
  for (int i = 0; i < 20'000; ++i) sum = sum + 1;
}

// Returns units of work a second. Programs that share a CPU alternate every few milliseconds, so the measurement takes
// longer than that.
double measure_speed(int64_t num_threads) {
  constexpr std::chrono::milliseconds kLongEnough(20);
  set_num_threads(num_threads);
  const auto run_round = [&] { at::parallel_for(0, num_threads, 1, [](int64_t, int64_t) { work_for_a_moment(); }); };
  run_round();  // the first round creates the threads
  const Clock::time_point began = Clock::now();
  int num_rounds = 0;
  while (Clock::now() - began < kLongEnough) {
    run_round();
    ++num_rounds;
  }
  return static_cast<double>(num_rounds * num_threads) / seconds_since(began);
}

}  // namespace

std::map<int64_t, double> measure_speeds(int64_t most_threads) {
  if (most_threads == 1 || std::getenv("OMP_NUM_THREADS") != nullptr) return {};
  constexpr int kTurns = 6;
  std::map<int64_t, double> speeds;
  for (int turn = 0; turn < kTurns; ++turn)
    for (int64_t num_threads = most_threads; num_threads > 0; num_threads /= 2) {
      const double speed = measure_speed(num_threads);
      const auto [slowest, is_first] = speeds.try_emplace(num_threads, speed);
      slowest->second = std::min(slowest->second, speed);
    }
  set_num_threads(1);
  return speeds;
}

bool has_default_threads(const Experiment& experiment) {
  const bool is_divided = experiment.devices.value_or(1) != 1 || experiment.training.shards;
  return !is_divided && !experiment.training.num_threads;
}

bool chooses_num_threads(const Experiment& experiment) {
  return has_default_threads(experiment) && device_error(experiment.device).empty() &&
         resolve_device(experiment.device).is_cpu();
}

std::optional<ThreadChoice> choose_num_threads(const std::map<int64_t, double>& speeds) {
  if (speeds.empty()) return std::nullopt;
  const auto by_speed = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto& [best, best_speed] = *std::max_element(speeds.begin(), speeds.end(), by_speed);
  const auto& [most, most_speed] = *speeds.rbegin();
  if (best_speed < kClearlyFaster * most_speed) return std::nullopt;
  return ThreadChoice{best, fmt::format("{} did {:.3g} times the work of {}", counted(best, "thread"),
                                        best_speed / most_speed, counted(most, "thread"))};
}

namespace {

constexpr int kMinRounds = 3;
constexpr int kMaxRounds = 8;           // while the noise is above kMaxNoise
constexpr int kWarmupPasses = 2;        // in a round
constexpr int kTimedPasses = 4;         // in a round
constexpr double kLongEnough = 0.7;     // seconds after which a round times no further pass
constexpr double kMaxRaceSeconds = 20;  // seconds after which only kMinRounds are run
constexpr double kSlowFactor = 1.5;     // times the shortest: only kMinRounds, unless the noise is larger
constexpr double kVerySlowFactor = 10;  // times the shortest: no second round
constexpr double kMinNoise = 0.01;      // lower bound of the noise that is assumed
constexpr double kMaxNoise = 0.2;       // upper bound of the noise that is tolerated

double shortest_pass(const std::function<void()>& pass, c10::Device device) {
  for (int i = 0; i < kWarmupPasses && synchronised_seconds(device, pass) < kLongEnough; ++i) {
  }
  double shortest = std::numeric_limits<double>::infinity(), sum = 0;
  for (int i = 0; i < kTimedPasses && sum < kLongEnough; ++i) {
    const double seconds = synchronised_seconds(device, pass);
    shortest = std::min(shortest, seconds);
    sum += seconds;
  }
  return shortest;
}

// A kind that cannot be captured also trains without graphs.
bool can_capture(CapturedWork& graph, const std::function<void()>& pass) {
  try {
    graph.capture(pass);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

double shortest_training_pass(const std::function<void()>& pass, const TrainerOptions& options) {
  if (!options.settings.cuda_graph || !options.device.is_cuda()) return shortest_pass(pass, options.device);
  const std::unique_ptr<CapturedWork> graph = make_captured_work(options.device);
  if (!can_capture(*graph, pass)) return shortest_pass(pass, options.device);
  return shortest_pass([&] { graph->replay(); }, options.device);
}

// These are the failures of a layer itself: unsupported options, missing memory, or a failed start.
bool is_of_layer(ExitCode exit_code) {
  return exit_code == ExitCode::kUsage || exit_code == ExitCode::kDevice || exit_code == ExitCode::kInternal;
}

// Times the kinds of one choice in turn.
class Race {
 public:
  explicit Race(const MeasureLayer& measure) : measure_(measure) {}

  // Returns whether any kind could be timed.
  bool run(const std::vector<LayerKind>& kinds) {
    for (const LayerKind kind : kinds) runners_.push_back({.kind = kind, .rounds = {}});
    const auto began = Clock::now();
    const auto needs_round = [&](int round) {
      return round < kMinRounds ||
             (round < kMaxRounds && noise() > kMaxNoise && seconds_since(began) < kMaxRaceSeconds);
    };
    for (int round = 0; needs_round(round); ++round)
      for (size_t i = 0; i < runners_.size();)
        if (is_far_behind(runners_[i]) || time(runners_[i]))
          ++i;
        else
          runners_.erase(runners_.begin() + static_cast<std::ptrdiff_t>(i));
    return !runners_.empty();
  }

  FastestLayer result() const {
    const double limit = shortest() * (1 + tolerance());
    const auto first = std::ranges::find_if(runners_, [&](const Runner& runner) { return runner.shortest() <= limit; });
    FastestLayer fastest = {first->kind, {note_on(*first)}};
    for (const auto& [layers, reason] : skipped_)
      fastest.notes.push_back(fmt::format("layer: auto skipped {}: {}", join(layers, ", "), reason));
    return fastest;
  }

  [[noreturn]] void rethrow_last() const { std::rethrow_exception(error_); }

 private:
  struct Runner {
    LayerKind kind;
    std::vector<double> rounds;

    double shortest() const { return std::ranges::min(rounds); }
  };

  // Lists layers that failed for the same reason.
  struct SkippedLayers {
    std::vector<std::string> layers;
    std::string reason;
  };

  double shortest() const {
    double shortest = std::numeric_limits<double>::infinity();
    for (const Runner& runner : runners_)
      if (!runner.rounds.empty()) shortest = std::min(shortest, runner.shortest());
    return shortest;
  }

  bool is_far_behind(const Runner& runner) const {
    if (runner.rounds.empty()) return false;
    const bool is_early = std::ssize(runner.rounds) < kMinRounds;
    const double factor = is_early ? kVerySlowFactor : std::max(kSlowFactor, 1 + noise());
    return runner.shortest() > factor * shortest();
  }

  // Returns the noise: how much the rounds of a kind differ, relative to its shortest time; the largest value among the
  // kinds that may be the fastest.
  double noise() const {
    double most = kMinNoise;
    for (const Runner& runner : runners_) {
      if (std::ssize(runner.rounds) < kMinRounds || runner.shortest() > kSlowFactor * shortest()) continue;
      std::vector<double> rounds = runner.rounds;
      std::ranges::sort(rounds);
      most = std::max(most, rounds[rounds.size() / 2] / rounds.front() - 1);
    }
    return most;
  }

  // Returns the relative difference up to which a slower layer may be chosen.
  double tolerance() const { return std::min(noise(), kMaxNoise); }

  // Returns false if the kind fails.
  bool time(Runner& runner) {
    try {
      runner.rounds.push_back(measure_(runner.kind));
      return true;
    } catch (const InvariantError&) {
      throw;
    } catch (...) {
      skip(runner.kind, std::current_exception());
      return false;
    }
  }

  void skip(LayerKind kind, const std::exception_ptr& error) {
    const Failure failure = describe_failure(error);
    if (!is_of_layer(failure.exit_code)) std::rethrow_exception(error);
    error_ = error;
    const std::string reason = without_layer(first_line(failure.message), config::name_of(kind));
    const auto same = std::ranges::find(skipped_, reason, &SkippedLayers::reason);
    if (same == skipped_.end())
      skipped_.push_back({{std::string(config::name_of(kind))}, reason});
    else
      same->layers.emplace_back(config::name_of(kind));
    release_cached_memory();  // the next kind may need the memory
  }

  std::string note_on(const Runner& taken) const {
    std::vector<std::string> times;
    for (const Runner& runner : runners_)
      times.push_back(fmt::format("{} {}", config::name_of(runner.kind), format_seconds(runner.shortest())));
    const bool is_tie = taken.shortest() > shortest();
    return fmt::format("layer: auto chose {}, by the time of a pass: {}{}", config::name_of(taken.kind),
                       join(times, ", "),
                       is_tie ? fmt::format(" (differences below {:.1f} % are noise here)", tolerance() * 100) : "");
  }

  const MeasureLayer& measure_;
  std::vector<Runner> runners_;
  std::vector<SkippedLayers> skipped_;
  std::exception_ptr error_;
};

// Returns, as text, the settings on which a pass through the layer depends.
std::string work_of_layer(const Experiment& experiment) {
  Experiment work = experiment;
  const Experiment defaults;
  work.name = defaults.name;
  work.layer = LayerKind::kAuto;
  work.auto_layer.reset();
  work.strict = defaults.strict;
  work.seed = defaults.seed;
  work.data.seed = defaults.data.seed;
  work.model.initial_weights.clear();
  work.checkpoint = defaults.checkpoint;
  work.training = defaults.training;
  work.training.batch_size = experiment.training.batch_size;
  work.training.loss = experiment.training.loss;
  work.training.class_weights = experiment.training.class_weights;
  work.training.batch_by_length = experiment.training.batch_by_length;
  work.training.carry_state = experiment.training.carry_state;
  work.training.cuda_graph = experiment.training.cuda_graph;
  work.training.num_threads = experiment.training.num_threads;
  return config::print(work, Experiment::schema());
}

}  // namespace

FastestLayer fastest_of(const std::vector<LayerKind>& kinds, const MeasureLayer& measure) {
  RNNLAB_INVARIANT(!kinds.empty(), "layer: auto has no candidate, although the experiment was checked");
  std::vector<LayerKind> likely, others;
  for (const LayerKind kind : kinds) (info_of(kind).auto_use == AutoUse::kAlways ? likely : others).push_back(kind);
  if (likely.empty() && others.size() == 1)
    return {others[0],
            {fmt::format("layer: auto chose {}, the only layer that can do this work", config::name_of(others[0]))}};
  Race race(measure);
  if (!race.run(likely) && !race.run(others)) race.rethrow_last();
  return race.result();
}

std::string without_layer(const std::string& reason, std::string_view layer) {
  const std::string opening = fmt::format("layer: {} ", layer);
  return reason.starts_with(opening) ? reason.substr(opening.size()) : reason;
}

std::optional<LayerKind> AutoLayers::find_choice(const Experiment& experiment) const {
  const auto found = taken_.find(work_of_layer(experiment));
  return found == taken_.end() ? std::nullopt : std::optional(found->second);
}

void AutoLayers::remember(const Experiment& experiment, LayerKind kind) {
  taken_.insert_or_assign(work_of_layer(experiment), kind);
}

MeasureLayer measure_training(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options) {
  return [&experiment, &dataset, &options](LayerKind kind) {
    require_supported(kind, work_on(options.device, layer_work(experiment)));
    const auto model = make_model(experiment.model, {kind, experiment.cudnn_algorithm}, dataset.shape);
    model->to(options.device);
    model->train();
    const Batch batch = first_batch(dataset.train, options);
    if (options.settings.carry_state) model->carry_states(batch.size);
    const Objective objective = training_objective(dataset, options);
    const auto pass = [&] {
      model->zero_grad();
      backpropagate(*model, batch, objective, options.precision);
    };
    const double seconds = shortest_training_pass(pass, options);
    release_cached_memory();
    return seconds;
  };
}

}  // namespace rnnlab
