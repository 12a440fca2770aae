// SPDX-License-Identifier: Apache-2.0
#include "train/loop/snapshot.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"

namespace rnnlab {

namespace {

// The largest count with which a run can be resumed; training adds to it without an overflow of int64_t.
constexpr int64_t kMostSaved = std::numeric_limits<int64_t>::max() / 4;

// Returns whether each number of the record is fine, also those of records in it.
template <HasFields Record, class IsFine>
bool are_fine(const Record& record, IsFine is_fine) {
  bool all = true;
  record.visit_fields([&]<class T>(const std::string&, const T& member, int64_t) {
    if constexpr (HasFields<T>)
      all = are_fine(member, is_fine) && all;
    else
      all = is_fine(member) && all;
  });
  return all;
}

struct IsFinite {
  bool operator()(double value) const { return std::isfinite(value); }
  bool operator()(const std::optional<double>& value) const { return std::isfinite(value.value_or(0)); }
  template <class T>
  bool operator()(const T&) const {
    return true;
  }
};

struct IsCount {
  bool operator()(int64_t count) const { return count >= 0 && count <= kMostSaved; }
  template <class T>
  bool operator()(const T&) const {
    return true;
  }
};

bool are_counts(const RunProgress& progress) {
  const EpochTally& tally = progress.tally;
  return are_fine(tally, IsCount{}) && tally.seconds >= 0 && tally.data_seconds >= 0 && progress.seconds >= 0 &&
         tally.skipped_steps <= tally.steps;
}

// Returns the steps of whole epochs and of the present epoch; nothing if the whole epochs have more than kMostSaved.
std::optional<int64_t> steps_before(const RunProgress& progress, int64_t steps_per_epoch) {
  const auto whole = checked_multiply(progress.state.epoch - 1, steps_per_epoch);
  if (!whole || *whole > kMostSaved) return std::nullopt;
  return saturating_add(*whole, progress.tally.steps);
}

}  // namespace

std::string invalid_reason(const RunProgress& progress, int64_t steps_per_epoch) {
  const TrainingState& state = progress.state;
  const int64_t steps = progress.tally.steps;
  if (!are_fine(progress, IsFinite{})) return "a number is not finite";
  if (state.epoch < 1 || state.best_epoch < 0 || state.best_epoch > state.epoch)
    return fmt::format("epoch {}, but the best epoch is {}", state.epoch, state.best_epoch);
  if (state.target_epoch && (*state.target_epoch < 1 || *state.target_epoch > state.epoch))
    return fmt::format("epoch {}, but epoch {} reached the target", state.epoch, *state.target_epoch);
  if (state.num_plateaus.has_value() != state.plateau_epoch.has_value() || state.num_plateaus.value_or(0) < 0 ||
      state.num_plateaus.value_or(0) > state.plateau_epoch.value_or(0) || state.plateau_epoch.value_or(0) > state.epoch)
    return fmt::format("epoch {}, but {} plateaus until epoch {}", state.epoch, state.num_plateaus.value_or(0),
                       state.plateau_epoch.value_or(0));
  if (steps < 0 || steps > steps_per_epoch || (progress.epoch_is_over && steps != steps_per_epoch))
    return fmt::format("{} of {} steps of an epoch that is {}", steps, steps_per_epoch,
                       progress.epoch_is_over ? "over" : "not over");
  if (!are_counts(progress)) return "a count or a time is negative or too large";
  if (state.step != steps_before(progress, steps_per_epoch))
    return fmt::format("step {} after {} of {} steps of epoch {}", state.step, steps, steps_per_epoch, state.epoch);
  return "";
}

std::vector<NamedTensor> copied_to_host(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copies;
  for (const auto& [name, tensor] : tensors) {
    const auto options = tensor.options().device(at::kCPU);
    copies.push_back({name, tensor.detach().to(options, /*non_blocking=*/false, /*copy=*/true).contiguous()});
  }
  return copies;
}

void copy_tensors(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to) {
  const at::NoGradGuard no_grad;
  RNNLAB_INVARIANT(from.size() == to.size(), "the two lists must have the same number of tensors");
  for (const auto& [name, tensor] : to) {
    const auto same = std::ranges::find(from, name, &NamedTensor::name);
    RNNLAB_INVARIANT(same != from.end() && same->tensor.sizes() == tensor.sizes(), name);
    at::Tensor(tensor).copy_(same->tensor);
  }
}

}  // namespace rnnlab
