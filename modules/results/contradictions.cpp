#include "results/contradictions.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/numbers.h"
#include "results/config_values.h"
#include "results/statistics.h"

namespace rnnlab {
namespace {

using Found = std::vector<std::string>;

bool is_on_gpu(const RunRecord& run) { return run.summary.device.starts_with("cuda"); }

double seconds_in_epochs(const RunRecord& run) {
  double sum = 0;
  for (const EpochRow& row : run.rows) sum += row.train_seconds + row.valid_seconds.value_or(0);
  return sum;
}

void check_whole_time(const RunRecord& run, Found& found) {
  constexpr double kRounding = 1e-3;
  const double whole = run.summary.total_seconds;
  const double parts = seconds_in_epochs(run);
  if (parts > whole * (1 + kRounding))
    found.push_back(
        fmt::format("IMPOSSIBLE SUM: the epochs add up to {:.4g} s, the whole run to {:.4g} s", parts, whole));
  for (const EpochRow& row : run.rows)
    if (row.data_seconds > row.train_seconds * (1 + kRounding)) {
      found.push_back(fmt::format("IMPOSSIBLE WAIT: epoch {} waited {:.4g} s for data, of {:.4g} s", row.epoch,
                                  row.data_seconds, row.train_seconds));
      return;
    }
}

bool differ(const std::optional<EpochTime>& a, const std::optional<EpochTime>& b) {
  constexpr double kRounding = 1e-9;
  if (!a || !b) return a.has_value() != b.has_value();
  return a->num_epochs != b->num_epochs ||
         std::abs(a->median_seconds - b->median_seconds) > kRounding * b->median_seconds;
}

std::string shown(const std::optional<EpochTime>& time) {
  if (!time) return "none that counts";
  return fmt::format("{:.4g} s over {}", time->median_seconds, counted(time->num_epochs, "epoch"));
}

// Such as a median that takes in the warm-up.
void check_summary(const RunRecord& run, Found& found) {
  const auto by_rows = epoch_time(run.rows);
  if (differ(run.summary.epoch_time, by_rows))
    found.push_back(
        fmt::format("WRONG MEDIAN: the summary says {}, epochs.csv {}", shown(run.summary.epoch_time), shown(by_rows)));
  if (run.summary.epochs > std::ssize(run.rows))
    found.push_back(
        fmt::format("WRONG SUMMARY (epochs): it says {}, epochs.csv has {}", run.summary.epochs, run.rows.size()));
  for (const auto& [name, value] : final_metrics(run.rows)) {
    const auto told = run.summary.final_metrics.find(name);
    if (told == run.summary.final_metrics.end() || told->second == value) continue;
    if (std::isnan(told->second) && std::isnan(value)) continue;
    found.push_back(fmt::format("WRONG SUMMARY ({}): it says {}, epochs.csv {}", name, format_shortest(told->second),
                                format_shortest(value)));
  }
}

void check_warmup(const RunRecord& run, Found& found) {
  const auto wanted = parse_int64(value_or_absent(run.config, "training.warmup_epochs"));
  for (const EpochRow& row : run.rows)
    if (wanted && row.epoch <= *wanted && !row.warmup) {
      found.push_back(
          fmt::format("WARM-UP IS NOT MARKED: training.warmup_epochs is {}, but epoch {} counts", *wanted, row.epoch));
      return;
    }
}

void check_samples(const RunRecord& run, Found& found) {
  const EpochRow* first = nullptr;
  for (const EpochRow& row : run.rows) {
    if (row.warmup) continue;
    if (first == nullptr) first = &row;
    if (num_samples(row) == num_samples(*first)) continue;
    found.push_back(fmt::format("UNEQUAL EPOCHS: epoch {} took {:.0f} samples, epoch {} {:.0f}, and both count",
                                first->epoch, num_samples(*first), row.epoch, num_samples(row)));
    return;
  }
}

void check_equal(const char* what, const std::string& told, const char* where, const std::string& there, Found& found) {
  if (told != there)
    found.push_back(fmt::format("WRONG IDENTITY ({}): the summary says '{}', {} '{}'", what, told, where, there));
}

void check_identity(const RunRecord& run, Found& found) {
  const Identity& identity = run.summary.identity;
  const Environment& environment = run.environment;
  constexpr const char* kEnvironment = "environment.json";
  check_equal("build_type", identity.build_type, kEnvironment, build_kind(environment.build), found);
  check_equal("cpu_model", identity.cpu_model, kEnvironment, environment.cpu.model, found);
  check_equal("gpu_model", identity.gpu_model, kEnvironment, gpu_model(environment.nvidia), found);
  check_equal("num_threads", std::to_string(identity.num_threads), kEnvironment,
              std::to_string(environment.num_threads), found);
  const auto batch_size = run.config.find("training.batch_size");
  if (batch_size != run.config.end())
    check_equal("batch_size", std::to_string(identity.batch_size), "config.yaml", batch_size->second, found);
}

// LibTorch's switches for cuDNN and cuBLAS may have been set otherwise than the experiment says.
void check_precision(const RunRecord& run, Found& found) {
  if (is_on_gpu(run) && run.summary.identity.precision != run.summary.precision)
    found.push_back(fmt::format("OTHER PRECISION: {} was asked for, and {} ran", run.summary.precision,
                                run.summary.identity.precision));
}

}  // namespace

double num_samples(const EpochRow& row) { return std::round(row.samples_per_second * row.train_seconds); }

std::vector<std::string> contradictions(const RunRecord& run) {
  Found found;
  check_whole_time(run, found);
  check_summary(run, found);
  check_warmup(run, found);
  check_samples(run, found);
  check_identity(run, found);
  check_precision(run, found);
  return found;
}

}  // namespace rnnlab
