#include "experiment/scaling_estimate.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.h"
#include "experiment/fastest_layer.h"

namespace rnnlab {
namespace {

// Returns NaN if the pass fails, for example if the whole batch needs more memory than one GPU has.
double seconds_of_pass(const PreparedRun& run, int64_t batch_size) {
  TrainerOptions options = run.options;
  options.settings.batch_size = batch_size;
  try {
    return measure_training(run.experiment, run.dataset, options)(computed_layer(run.experiment));
  } catch (const c10::Error&) {
    return std::numeric_limits<double>::quiet_NaN();
  } catch (const UserError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

// The values are exchanged as texts, because the ranks wait longer for texts.
double largest_of(Ranks& ranks, double value) {
  double largest = 0;
  for (const std::string& text : ranks.gather_texts(format_shortest(value))) {
    const std::optional<double> one = parse_double(text);
    if (!one || !std::isfinite(*one)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, *one);
  }
  return largest;
}

// The first rank measures the whole batch while the others wait.
ScalingEstimate estimate_of(PreparedRun& run, const Trainer::ExchangeAlone& exchange) {
  Ranks& ranks = *run.options.ranks;
  const int64_t batch_size = std::min(run.options.settings.batch_size, run.dataset.train.size());
  ScalingEstimate estimate{.num_processes = ranks.size(),
                           .exchange_seconds = exchange.seconds / static_cast<double>(run.options.settings.accumulate),
                           .num_bytes = exchange.num_bytes};
  estimate.part_seconds = largest_of(ranks, seconds_of_pass(run, (batch_size + ranks.size() - 1) / ranks.size()));
  estimate.whole_seconds = largest_of(ranks, ranks.is_first() ? seconds_of_pass(run, batch_size) : 0);
  return estimate;
}

}  // namespace

std::string text_of(const ScalingEstimate& estimate) {
  if (!std::isfinite(estimate.speedup())) return "no estimate: one GPU cannot do a pass over the whole batch";
  return fmt::format(
      "expected: {:.2g} times as fast as one GPU with this batch (a pass over it takes {}, over a part of {} {}, the "
      "exchange of {} {}); {:.0f} % of {} times if each GPU has a batch of this size",
      estimate.speedup(), format_seconds(estimate.whole_seconds), estimate.num_processes,
      format_seconds(estimate.part_seconds), format_bytes(estimate.num_bytes),
      format_seconds(estimate.exchange_seconds), 100 * estimate.weak_efficiency(), estimate.num_processes);
}

void note_exchange(PreparedRun& run) {
  if (run.options.ranks == nullptr) return;
  const Trainer::ExchangeAlone exchange = run.trainer.measure_exchange();
  const bool has_shards = run.options.settings.shards.has_value();  // their passes are smaller
  if (run.device.is_cuda() && !has_shards)
    run.exchange_note = text_of(estimate_of(run, exchange));
  else
    run.exchange_note = fmt::format("an exchange of {} takes {} without other work", format_bytes(exchange.num_bytes),
                                    format_seconds(exchange.seconds));
}

}  // namespace rnnlab
