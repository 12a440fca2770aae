// SPDX-License-Identifier: Apache-2.0
#include "data/split.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

std::vector<int64_t> shuffled_rows(int64_t count, int64_t seed) {
  const at::Tensor order = permutation(count, static_cast<uint64_t>(seed), 0);
  const auto* rows = order.const_data_ptr<int64_t>();
  return {rows, rows + count};
}

int64_t part_of(double fraction, int64_t num_rows) {
  return static_cast<int64_t>(std::llround(fraction * static_cast<double>(num_rows)));
}

void require_rows_besides_test(int64_t num_rows, int64_t num_test, const SplitRequest& request,
                               const std::string& origin) {
  if (num_test < num_rows) return;
  throw_error(ExitCode::kData, "{}: the test part needs {} of {}, so no sample is left for training: lower data.{}",
              origin, num_test, counted(num_rows, "sample"), request.num_test > 0 ? "num_test" : "test_fraction");
}

// ---- stratified splits ----

std::vector<int64_t> all_but_one(std::vector<int64_t> counts) {
  for (int64_t& count : counts) count = std::max<int64_t>(count - 1, 0);
  return counts;
}

// Returns how many rows each class gives to a part of `total` rows, in proportion to its rows. The largest remainders
// are rounded up (Hamilton's method); of equal ones, first those of classes that would give nothing.
std::vector<int64_t> shares_of(const std::vector<int64_t>& counts, int64_t total) {
  const int64_t all = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  std::vector<int64_t> most = all_but_one(counts), shares, remainders;
  if (std::accumulate(most.begin(), most.end(), int64_t{0}) < total) most = counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    shares.push_back(std::min(counts[i] * total / all, most[i]));
    remainders.push_back(counts[i] * total % all);
  }
  std::vector<int64_t> order = first_rows(std::ssize(counts));
  std::ranges::stable_sort(order, {}, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return std::pair(-remainders[at], shares[at]);
  });
  int64_t left = total - std::accumulate(shares.begin(), shares.end(), int64_t{0});
  while (left > 0) {
    for (const int64_t i : order) {
      const auto at = static_cast<size_t>(i);
      if (left == 0 || shares[at] == most[at]) continue;
      ++shares[at];
      --left;
    }
  }
  return shares;
}

// Returns the place of each row's class, from 0, in the order in which the classes first appear in `rows`.
std::vector<size_t> places_of_classes(const std::vector<int64_t>& rows, std::span<const int64_t> classes) {
  std::unordered_map<int64_t, size_t> found;
  std::vector<size_t> places;
  for (const int64_t row : rows)
    places.push_back(found.emplace(classes[static_cast<size_t>(row)], found.size()).first->second);
  return places;
}

std::vector<int64_t> difference(std::vector<int64_t> counts, const std::vector<int64_t>& less) {
  for (size_t i = 0; i < counts.size(); ++i) counts[i] -= less[i];
  return counts;
}

// Each class gives its first rows to training, and its last ones to the test part. A part keeps the order of `rows`.
RowSplit split_each_class(const std::vector<int64_t>& rows, std::span<const int64_t> classes, int64_t num_valid,
                          int64_t num_test) {
  const std::vector<size_t> places = places_of_classes(rows, classes);
  std::vector<int64_t> counts(*std::ranges::max_element(places) + 1);
  for (const size_t place : places) ++counts[place];
  const std::vector<int64_t> until_test = difference(counts, shares_of(counts, num_test));
  const std::vector<int64_t> until_valid = difference(until_test, shares_of(until_test, num_valid));
  std::vector<int64_t> taken(counts.size());
  RowSplit split;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t place = places[i];
    const int64_t number = taken[place]++;
    auto& part = number < until_valid[place] ? split.train : number < until_test[place] ? split.valid : split.test;
    part.push_back(rows[i]);
  }
  return split;
}

}  // namespace

int64_t num_for_test(int64_t num_all, const SplitRequest& request) {
  if (request.num_test > 0 || request.test_fraction == 0) return request.num_test;
  return std::max<int64_t>(1, part_of(request.test_fraction, num_all));
}

int64_t num_for_validation(int64_t num_others, const SplitRequest& request) {
  if (request.num_valid) return *request.num_valid;
  return std::clamp<int64_t>(part_of(request.valid_fraction, num_others), 1, num_others - 1);
}

// ---- folds ----

namespace {

int64_t block_size(int64_t num_others, const SplitRequest& request) {
  return num_others < 2 ? request.num_valid.value_or(1) : num_for_validation(num_others, request);
}

}  // namespace

FoldBlock fold_block(int64_t num_others, const SplitRequest& request) {
  RNNLAB_INVARIANT(request.fold >= 1 && request.fold <= request.num_folds, "a run is of one fold");
  const int64_t size = block_size(num_others, request);
  return {num_others - saturating_multiply(request.num_folds - request.fold + 1, size), size};
}

int64_t rows_for_folds(int64_t num_others, const SplitRequest& request) {
  return saturating_add(saturating_multiply(request.num_folds, block_size(num_others, request)), request.least_train);
}

std::string how_to_fit_folds(const SplitRequest& request) {
  return fmt::format("use a smaller data.folds or data.{}, or give it more rows",
                     request.num_valid ? "num_valid" : "valid_fraction");
}

namespace {

// Returns all rows but those of the test part as training, as if there were no folds.
RowSplit without_test_part(int64_t num_all, SplitRequest request, const std::string& origin,
                           std::span<const int64_t> classes) {
  request.num_folds = 0;
  request.num_valid = 0;
  return split_rows(num_all, request, origin, classes);
}

std::string beside_test(const RowSplit& split) { return split.test.empty() ? "" : " without its test part"; }

void require_rows_for_blocks(const RowSplit& split, const SplitRequest& request, const std::string& origin) {
  const int64_t num_rows = std::ssize(split.train), needed = rows_for_folds(num_rows, request);
  if (num_rows >= needed) return;
  throw_error(ExitCode::kData,
              "{}: data.folds: {} validation parts of {}, and {} for the training of the first fold, need {}, but it "
              "has {}{}; {}",
              origin, request.num_folds, counted(block_size(num_rows, request), request.unit),
              counted(request.least_train, request.unit), counted(needed, request.unit), format_count(num_rows),
              beside_test(split), how_to_fit_folds(request));
}

RowSplit rolling_origin(RowSplit split, const SplitRequest& request, const std::string& origin) {
  require_rows_for_blocks(split, request, origin);
  const FoldBlock block = fold_block(std::ssize(split.train), request);
  const auto begin = split.train.begin() + block.begin;
  split.valid.assign(begin, begin + block.size);
  split.train.erase(begin, split.train.end());
  return split;
}

// Returns the fold of each row, from 1: rows are dealt to the folds one by one, class by class if the split is
// stratified, so that the folds differ by at most one row, and by at most one row of each class.
std::vector<int64_t> folds_of(const std::vector<int64_t>& rows, const SplitRequest& request,
                              std::span<const int64_t> classes) {
  std::vector<int64_t> order = first_rows(std::ssize(rows)), folds(rows.size());
  const auto class_of = [&](int64_t i) { return classes[static_cast<size_t>(rows[static_cast<size_t>(i)])]; };
  if (request.is_stratified && !classes.empty()) std::ranges::stable_sort(order, {}, class_of);
  for (size_t i = 0; i < order.size(); ++i)
    folds[static_cast<size_t>(order[i])] = static_cast<int64_t>(i) % request.num_folds + 1;
  return folds;
}

RowSplit one_of_k_folds(RowSplit split, const SplitRequest& request, const std::string& origin,
                        std::span<const int64_t> classes) {
  const int64_t num_rows = std::ssize(split.train);
  if (num_rows < request.num_folds)
    throw_error(ExitCode::kData, "{}: data.folds: {} folds need at least {}, but it has {}{}; use fewer folds", origin,
                request.num_folds, counted(request.num_folds, request.unit), num_rows, beside_test(split));
  RNNLAB_INVARIANT(request.fold >= 1 && request.fold <= request.num_folds, "a run is of one fold");
  const std::vector<int64_t> rows = std::exchange(split.train, {}), folds = folds_of(rows, request, classes);
  for (size_t i = 0; i < rows.size(); ++i) (folds[i] == request.fold ? split.valid : split.train).push_back(rows[i]);
  return split;
}

RowSplit rows_of_fold(int64_t num_all, const SplitRequest& request, const std::string& origin,
                      std::span<const int64_t> classes) {
  RowSplit split = without_test_part(num_all, request, origin, classes);
  return request.how == Split::kRandom ? one_of_k_folds(std::move(split), request, origin, classes)
                                       : rolling_origin(std::move(split), request, origin);
}

}  // namespace

RowSplit split_rows(int64_t num_all, const SplitRequest& request, const std::string& origin,
                    std::span<const int64_t> classes) {
  RNNLAB_INVARIANT(request.how != Split::kAutomatic, "the loader of a source resolves 'auto'");
  if (num_all == 0) throw_error(ExitCode::kData, "{}: no sample is left to train on", origin);
  if (request.num_folds > 0) return rows_of_fold(num_all, request, origin, classes);
  const int64_t num_test = num_for_test(num_all, request);
  if (num_test > 0) require_rows_besides_test(num_all, num_test, request, origin);
  const int64_t num_rows = num_all - num_test;
  if (num_rows < 2 && request.num_valid != 0) {
    throw_error(ExitCode::kData,
                "{}: a split into training and validation needs at least 2 samples, got {}; set data.num_valid: 0 for "
                "no validation",
                origin, num_rows);
  }
  const int64_t num_valid = num_for_validation(num_rows, request);
  if (num_valid >= num_rows) {
    throw_error(
        ExitCode::kData,
        "{}: validation needs {} of {} samples, so no sample is left for training; use at most data.num_valid={}",
        origin, num_valid, num_rows, num_rows - 1);
  }
  const bool is_random = request.how == Split::kRandom;
  const std::vector<int64_t> rows = is_random ? shuffled_rows(num_all, request.seed) : first_rows(num_all);
  if (is_random && request.is_stratified && !classes.empty())
    return split_each_class(rows, classes, num_valid, num_test);
  const auto border = rows.begin() + (num_rows - num_valid), test = rows.begin() + num_rows;
  return {{rows.begin(), border}, {border, test}, {test, rows.end()}};
}

// ---- notes on classes ----

int64_t class_of_binary(double target) { return std::isnan(target) ? -1 : target >= 0.5 ? 1 : 0; }

ClassCounts count_classes(std::string part, std::span<const int64_t> classes, int64_t num_classes) {
  ClassCounts counts{std::move(part), std::vector<int64_t>(static_cast<size_t>(num_classes))};
  for (const int64_t one : classes)
    if (one >= 0 && one < num_classes) ++counts.counts[static_cast<size_t>(one)];
  return counts;
}

namespace {

std::string name_of_class(size_t number, const std::vector<std::string>& names) {
  return in_quotes(number < names.size() ? names[number] : std::to_string(number));
}

std::vector<std::string> names_of(const std::vector<ClassCounts>& parts) {
  std::vector<std::string> names;
  for (const ClassCounts& part : parts) names.push_back(part.part);
  return names;
}

std::string counts_of_each(const std::vector<ClassCounts>& parts, const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < parts.front().counts.size(); ++i) {
    std::vector<std::string> counts;
    for (const ClassCounts& part : parts) counts.push_back(format_count(part.counts[i]));
    texts.push_back(fmt::format("{} {}", name_of_class(i, names), join(counts, " + ")));
  }
  return join(texts, ", ");
}

std::string range_of(const ClassCounts& part) {
  const auto [least, most] = std::ranges::minmax(part.counts);
  return least == most ? fmt::format("{} {}", format_count(least), part.part)
                       : fmt::format("{} to {} {}", format_count(least), format_count(most), part.part);
}

}  // namespace

std::string text_of(const std::vector<ClassCounts>& parts, const std::vector<std::string>& names) {
  constexpr size_t kMostListed = 10;
  const size_t num_classes = parts.front().counts.size();
  if (num_classes <= kMostListed)
    return fmt::format("samples of each class ({}): {}", join(names_of(parts), " + "), counts_of_each(parts, names));
  std::vector<std::string> ranges;
  for (const ClassCounts& part : parts) ranges.push_back(range_of(part));
  return fmt::format("each of {} classes has {} samples", format_count(std::ssize(parts.front().counts)),
                     join_with_and(ranges));
}

std::vector<std::string> notes_on_lacking_classes(const std::vector<ClassCounts>& parts,
                                                  const std::vector<std::string>& names) {
  std::vector<std::string> notes;
  for (const ClassCounts& part : parts) {
    const auto num_lacking = std::ranges::count(part.counts, 0);
    if (num_lacking == 0 || num_lacking == std::ssize(part.counts)) continue;
    const auto first = static_cast<size_t>(std::ranges::find(part.counts, 0) - part.counts.begin());
    int64_t num_samples = 0;
    for (const ClassCounts& any : parts) num_samples += any.counts[first];
    notes.push_back(fmt::format(
        "no {} sample is of {}{}{}{}", part.part,
        num_lacking == 1 ? "class " : fmt::format("{} of {} classes, such as ", num_lacking, part.counts.size()),
        name_of_class(first, names),
        num_samples == 0 ? "" : fmt::format(", which has {} in all parts", counted(num_samples, "sample")),
        &part == &parts.front() ? ", so the model cannot learn to recognise it" : ""));
  }
  return notes;
}

}  // namespace rnnlab
