// SPDX-License-Identifier: Apache-2.0
#include "results/loss_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "base/statistics.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

bool is_same_work(const RunRecord& a, const RunRecord& b) {
  const Identity& first = a.summary.identity;
  const Identity& second = b.summary.identity;
  const auto hashes = comparable_hashes(a, b);
  return a.summary.seed == b.summary.seed && first.data_fingerprint == second.data_fingerprint &&
         first.order_sha256 == second.order_sha256 && first.batch_size == second.batch_size &&
         first.initial_weights_sha256 == second.initial_weights_sha256 && hashes.first == hashes.second;
}

// Returns what differences of a run's losses are at least compared with: 0 for losses above 0, and otherwise the
// largest magnitude, because a likelihood may pass through 0.
double least_size_of(const RunRecord& run) {
  double least = INFINITY, largest = 0;
  for (const EpochRow& row : whole_epochs(run)) {
    least = std::min(least, row.train_loss);
    largest = std::max(largest, std::abs(row.train_loss));
  }
  return least > 0 ? 0 : largest;
}

// Returns infinity if the difference is not finite.
double relative_difference(double a, double b, double least_size) {
  if (a == b) return 0;
  const double difference = std::abs(a - b) / std::max({std::abs(a), std::abs(b), least_size});
  return std::isfinite(difference) ? difference : INFINITY;
}

std::optional<LossAgreement> agreement_of(const RunRecord& first, const RunRecord& second) {
  const auto a = whole_epochs(first), b = whole_epochs(second);
  const size_t num_epochs = std::min(a.size(), b.size());
  if (num_epochs == 0) return std::nullopt;
  LossAgreement agreement{.num_epochs = static_cast<int64_t>(num_epochs), .epoch = a[0].epoch};
  for (size_t i = 0; i < num_epochs; ++i) {
    const double difference = relative_difference(a[i].train_loss, b[i].train_loss, least_size_of(first));
    if (i == 0) agreement.first_difference = difference;
    if (difference <= agreement.largest_difference) continue;
    agreement.largest_difference = difference;
    agreement.epoch = a[i].epoch;
  }
  return agreement;
}

bool has_dropout(const RunRecord& run) {
  return std::ranges::any_of(run.config, [](const auto& setting) {
    const auto& [key, value] = setting;
    return key.starts_with("model.") && key.ends_with("dropout") && parse_double(value).value_or(0) > 0;
  });
}

// All layers of a device draw the same masks. A CPU and a GPU draw different masks. Two kinds of convolution, two
// programs, or different numbers of processes or shards may draw different masks.
bool may_differ_in_masks(const RunRecord& a, const RunRecord& b) {
  const bool is_other_device = a.summary.device.substr(0, 3) != b.summary.device.substr(0, 3);
  const bool is_other_kind = value_or_absent(a.config, "convolution") != value_or_absent(b.config, "convolution");
  const auto differ = [&](const char* key) { return value_or_absent(a.config, key) != value_or_absent(b.config, key); };
  const bool is_cut_otherwise = differ("devices") || differ("training.shards");
  const bool is_other_program = other_program(a) != other_program(b);
  return has_dropout(a) && (is_other_device || is_other_kind || is_other_program || is_cut_otherwise);
}

// The bound follows from the digits of the precision. Differences of 8e-4 were measured in bfloat16 after 100 updates,
// and of 6e-7 in float32 after 50 updates.
double most_by_digits(const std::string& precision) {
  constexpr double kFp32 = 1e-3, kTf32AndFp16 = 1e-2, kOther = 2e-2;
  if (precision.find("bf16") != std::string::npos) return kOther;
  const bool is_half = precision.find("fp16") != std::string::npos || precision.find("tf32") != std::string::npos;
  if (is_half) return kTf32AndFp16;
  return precision.starts_with("fp32") ? kFp32 : kOther;
}

bool has_at_most(double num_updates, const RunRecord& run) {
  const double accumulate = parse_double(value_or_absent(run.config, "training.accumulate")).value_or(1);
  return num_samples(run.rows[0]) <= num_updates * static_cast<double>(run.summary.identity.batch_size) * accumulate;
}

// Each update amplifies rounding. With a learning rate of 6e-3, a difference of 5e-3 was measured in float32 after 75
// updates. After 250 updates the difference does not grow further.
double most_in_first_epoch(const RunRecord& run) {
  constexpr double kFew = 50, kSome = 100, kFactorOfSome = 10, kMostByTraining = 0.2;
  const double most = most_by_digits(run.summary.identity.precision);
  if (has_at_most(kFew, run)) return most;
  return has_at_most(kSome, run) ? std::min(kFactorOfSome * most, kMostByTraining) : kMostByTraining;
}

// The losses of all epochs have one ratio, which training does not cause.
bool differ_by_one_factor(const RunRecord& a, const RunRecord& b) {
  constexpr size_t kFewest = 5;
  constexpr double kDeviations = 5;
  if (least_size_of(a) > 0 || least_size_of(b) > 0) return false;
  std::vector<double> ratios;
  const auto first = whole_epochs(a), second = whole_epochs(b);
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    ratios.push_back(std::log(second[i].train_loss / first[i].train_loss));
  const auto n = static_cast<double>(ratios.size());
  const double deviation = std::sqrt(squared_deviations(ratios) / n);
  const double least = std::max(most_by_digits(a.summary.identity.precision), kDeviations * deviation);
  return ratios.size() >= kFewest && std::abs(arithmetic_mean(ratios)) > least;
}

// Returns the index of the first later epoch with different losses, if half of the later epochs differ in one
// direction.
std::optional<size_t> first_later_difference(const RunRecord& a, const RunRecord& b) {
  constexpr double kLeastPart = 0.01, kLeastFactor = 1.5;
  const double least = kLeastPart * std::max(a.rows[0].train_loss, b.rows[0].train_loss);
  const size_t num_epochs = std::min(whole_epochs(a).size(), whole_epochs(b).size());
  for (const bool second_is_larger : {false, true}) {
    std::vector<size_t> parting;
    for (size_t i = 1; i < num_epochs; ++i) {
      const double larger = second_is_larger ? b.rows[i].train_loss : a.rows[i].train_loss;
      const double smaller = second_is_larger ? a.rows[i].train_loss : b.rows[i].train_loss;
      if (smaller > 0 && larger > least && std::isfinite(larger) && larger > kLeastFactor * smaller)
        parting.push_back(i);
    }
    if (!parting.empty() && 2 * parting.size() >= num_epochs - 1) return parting.front();
  }
  return std::nullopt;
}

DifferingLosses losses_at(const RunRecord& a, const RunRecord& b, size_t index) {
  return {&a, &b, a.rows[index].epoch, a.rows[index].train_loss, b.rows[index].train_loss};
}

std::string agreement_by(double difference) {
  constexpr double kOneDigit = 0.1;
  if (difference == 0) return "are equal";
  if (!(difference <= kOneDigit)) return "do not agree";
  return "agree to " + counted(static_cast<int64_t>(std::floor(-std::log10(difference))), "digit");
}

}  // namespace

std::optional<LossAgreement> loss_agreement(const RunGroup& baseline, const RunGroup& group) {
  std::optional<LossAgreement> worst;
  for (const RunRecord* a : baseline.runs)
    for (const RunRecord* b : group.runs) {
      if (!is_same_work(*a, *b) || may_differ_in_masks(*a, *b)) continue;
      const auto agreement = agreement_of(*a, *b);
      if (agreement && (!worst || agreement->largest_difference > worst->largest_difference)) worst = agreement;
    }
  return worst;
}

std::string agreement_text(const LossAgreement& agreement) {
  const std::string over = "over " + counted(agreement.num_epochs, "epoch");
  const std::string first = agreement_by(agreement.first_difference);
  const std::string whole = agreement_by(agreement.largest_difference);
  if (agreement.largest_difference == 0) return whole + " " + over;
  return fmt::format("{}{} {} (largest relative difference {:.2g}, at epoch {})",
                     first == whole ? "" : first + " in the first epoch, ", whole, over, agreement.largest_difference,
                     agreement.epoch);
}

std::optional<DifferingLosses> differing_losses(const RunGroup& baseline, const RunGroup& group) {
  for (const RunRecord* a : baseline.runs)
    for (const RunRecord* b : group.runs) {
      const bool is_comparable = is_same_work(*a, *b) && !may_differ_in_masks(*a, *b) &&
                                 a->summary.identity.precision == b->summary.identity.precision &&
                                 !whole_epochs(*a).empty() && !whole_epochs(*b).empty();
      if (!is_comparable) continue;
      const double first_difference =
          relative_difference(a->rows[0].train_loss, b->rows[0].train_loss, least_size_of(*a));
      if (first_difference > most_in_first_epoch(*a) || differ_by_one_factor(*a, *b)) return losses_at(*a, *b, 0);
      if (const auto index = first_later_difference(*a, *b)) return losses_at(*a, *b, *index);
    }
  return std::nullopt;
}

std::optional<DifferingLosses> unequal_repeated_losses(const RunGroup& group) {
  const auto setting = group.runs[0]->config.find("deterministic");
  if (setting == group.runs[0]->config.end() || setting->second != "true") return std::nullopt;
  for (const RunRecord* a : group.runs)
    for (const RunRecord* b : group.runs) {
      if (a == b || !is_same_work(*a, *b)) continue;
      for (size_t i = 0; i < std::min(whole_epochs(*a).size(), whole_epochs(*b).size()); ++i)
        if (relative_difference(a->rows[i].train_loss, b->rows[i].train_loss, 0) > 0) return losses_at(*a, *b, i);
    }
  return std::nullopt;
}

}  // namespace rnnlab
