#include "results/loss_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "results/config_values.h"

namespace rnnlab {
namespace {

bool is_same_work(const RunRecord& a, const RunRecord& b) {
  const Identity& first = a.summary.identity;
  const Identity& second = b.summary.identity;
  return a.summary.seed == b.summary.seed && first.data_fingerprint == second.data_fingerprint &&
         first.order_sha256 == second.order_sha256 && first.batch_size == second.batch_size &&
         first.model_hash == second.model_hash && first.initial_weights_sha256 == second.initial_weights_sha256 &&
         first.training_hash == second.training_hash;
}

// Infinite where one of them is no number.
double relative_difference(double a, double b) {
  if (a == b) return 0;
  const double difference = std::abs(a - b) / std::max(std::abs(a), std::abs(b));
  return std::isfinite(difference) ? difference : INFINITY;
}

std::optional<LossAgreement> agreement_of(const RunRecord& a, const RunRecord& b) {
  const size_t num_epochs = std::min(a.rows.size(), b.rows.size());
  if (num_epochs == 0) return std::nullopt;
  LossAgreement agreement{.num_epochs = static_cast<int64_t>(num_epochs), .epoch = a.rows[0].epoch};
  for (size_t i = 0; i < num_epochs; ++i) {
    const double difference = relative_difference(a.rows[i].train_loss, b.rows[i].train_loss);
    if (i == 0) agreement.first_difference = difference;
    if (difference <= agreement.largest_difference) continue;
    agreement.largest_difference = difference;
    agreement.epoch = a.rows[i].epoch;
  }
  return agreement;
}

bool has_dropout(const RunRecord& run) {
  return std::ranges::any_of(run.config, [](const auto& setting) {
    const auto& [key, value] = setting;
    return key.starts_with("model.") && key.ends_with("dropout") && parse_double(value).value_or(0) > 0;
  });
}

// Every layer of a device draws the same masks; a CPU and a GPU draw others, and so may two kinds of convolution.
bool may_differ_in_masks(const RunRecord& a, const RunRecord& b) {
  const bool is_other_device = a.summary.device.substr(0, 3) != b.summary.device.substr(0, 3);
  const bool is_other_kind = value_or_absent(a.config, "convolution") != value_or_absent(b.config, "convolution");
  return has_dropout(a) && (is_other_device || is_other_kind);
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
      if (!is_same_work(*a, *b)) continue;
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

std::optional<std::pair<double, double>> parting_losses(const RunGroup& baseline, const RunGroup& group) {
  constexpr double kMostByRounding = 0.05;
  for (const RunRecord* a : baseline.runs)
    for (const RunRecord* b : group.runs) {
      const bool is_comparable = is_same_work(*a, *b) && !may_differ_in_masks(*a, *b) &&
                                 a->summary.identity.precision == b->summary.identity.precision && !a->rows.empty() &&
                                 !b->rows.empty();
      if (!is_comparable) continue;
      const double first = a->rows[0].train_loss, second = b->rows[0].train_loss;
      if (relative_difference(first, second) > kMostByRounding) return std::pair(first, second);
    }
  return std::nullopt;
}

}  // namespace rnnlab
