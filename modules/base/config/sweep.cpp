// SPDX-License-Identifier: Apache-2.0
#include "base/config/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "base/config/schema.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/text.h"

namespace rnnlab::config {
namespace {

// ---- values of a random search ----

// What `sweep: {training.learning_rate: {log_uniform: [1e-4, 1e-2]}, num_runs: 20}` draws. The values are a pure
// function of the seed and the key, on every machine; a larger num_runs only adds values.
struct Distribution {
  double least = 0, most = 0;
  bool is_logarithmic = false;  // equal factors are equally likely, not equal differences
  bool is_integer = false;
};

constexpr std::array<std::pair<std::string_view, Distribution>, 4> kNamed = {
    {{"uniform", {}},
     {"log_uniform", {.is_logarithmic = true}},
     {"int_uniform", {.is_integer = true}},
     {"int_log_uniform", {.is_logarithmic = true, .is_integer = true}}}};

const std::pair<std::string_view, Distribution>* find_named(const Value& value) {
  if (!value.is_map() || value.members.size() != 1) return nullptr;
  const auto* const found =
      std::ranges::find(kNamed, value.members[0].key, &std::pair<std::string_view, Distribution>::first);
  return found == kNamed.end() ? nullptr : found;
}

// Returns what the limits should be, for "expected ...", or "" if they are valid.
std::string expected_limits(const Distribution& distribution) {
  if (distribution.least >= distribution.most) return "the first number to be smaller than the second";
  if (distribution.is_logarithmic && distribution.least <= 0) return "numbers above 0";
  const auto is_whole = [](double x) { return std::abs(x) <= 1e15 && x == std::floor(x); };
  const bool is_wrong = distribution.is_integer && !(is_whole(distribution.least) && is_whole(distribution.most));
  return is_wrong ? "whole numbers" : "";
}

std::optional<double> number_in(const Value& value) {
  return value.is_scalar() ? parse_double(value.text) : std::nullopt;
}

// The distributions of the standard library differ between machines, but the generator does not.
double unit_number(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

std::string text_of(double unit, const Distribution& distribution) {
  const bool is_integer = distribution.is_integer, is_log = distribution.is_logarithmic;
  const double first = is_log ? std::log(distribution.least) : distribution.least;
  // Each integer has an interval of length 1.
  const double most = distribution.most + (is_integer ? 1 : 0);
  const double drawn = first + unit * ((is_log ? std::log(most) : most) - first);
  const double number = is_log ? std::exp(drawn) : drawn;
  if (is_integer)
    return fmt::format("{}",
                       static_cast<int64_t>(std::clamp(std::floor(number), distribution.least, distribution.most)));
  const std::string text = fmt::format("{:.4g}", number);
  const double rounded = parse_double(text).value_or(number);
  return fmt::format("{}", std::clamp(rounded, distribution.least, distribution.most));
}

// Returns whether the value is a map with the name of a distribution: uniform, log_uniform, int_uniform and
// int_log_uniform.
bool is_distribution(const Value& value) { return find_named(value) != nullptr; }

std::vector<std::string> distribution_names() {
  std::vector<std::string> names;
  for (const auto& [name, distribution] : kNamed) names.emplace_back(name);
  return names;
}

// Reads such a map. Returns nullopt, and adds a finding, if its value is not a list of two numbers, the smaller one
// first, or not of numbers that the distribution can have.
std::optional<Distribution> read_distribution(const std::string& key, const Value& value, Findings& findings) {
  const auto& [name, kind] = *find_named(value);
  const Value& limits = value.members[0].value;
  const bool are_two = limits.is_sequence() && limits.items.size() == 2;
  const auto least = are_two ? number_in(limits.items[0]) : std::nullopt;
  const auto most = are_two ? number_in(limits.items[1]) : std::nullopt;
  Distribution distribution = kind;
  distribution.least = least.value_or(0);
  distribution.most = most.value_or(0);
  const std::string wanted = least && most ? expected_limits(distribution) : "a list of two numbers";
  if (wanted.empty()) return distribution;
  findings.add(limits.place, fmt::format("sweep of '{}': {}: got {}, expected {}", key, name, to_flow(limits), wanted));
  return std::nullopt;
}

// Returns `count` values at the place of `written`. Numbers have four significant digits; integers have all digits. Of
// a list, each item is equally likely.
std::vector<Value> draw(const Value& written, const std::string& key, size_t count, uint64_t seed) {
  // Keys have draws of their own, so that a key that leaves the sweep does not change the others.
  std::mt19937_64 generator(seed ^ fnv1a(key));
  Findings told_before;
  const bool is_listed = !is_distribution(written);
  const Distribution distribution =
      is_listed ? Distribution() : read_distribution(key, written, told_before).value_or(Distribution());
  std::vector<Value> values;
  for (size_t i = 0; i < count; ++i) {
    const double unit = unit_number(generator);
    if (is_listed) {
      values.push_back(written.items[static_cast<size_t>(unit * static_cast<double>(written.items.size()))]);
      continue;
    }
    Value value;
    value.kind = Value::Kind::kScalar;
    value.text = text_of(unit, distribution);
    value.place = written.place;
    values.push_back(std::move(value));
  }
  return values;
}

// ---- repeats ----

std::optional<int64_t> count_in(const Value& value) {
  const auto count = value.is_scalar() ? parse_int64(value.text) : std::nullopt;
  return count && *count >= 1 && *count <= kMostRepeats ? count : std::nullopt;
}

// Parses "1 %" or 0.01.
std::optional<double> part_in(const Value& value) {
  if (!value.is_scalar()) return std::nullopt;
  const std::string_view text = trim(value.text);
  const bool is_percent = text.ends_with('%');
  auto part = parse_double(trim(is_percent ? text.substr(0, text.size() - 1) : text));
  if (part && is_percent) *part /= 100;
  return part && *part > 0 && *part < 1 ? part : std::nullopt;
}

void read_member(const Member& member, Repeats& repeats, Findings& findings) {
  if (member.key == "until") {
    repeats.until = part_in(member.value);
    if (!repeats.until)
      findings.add(member.value.place,
                   fmt::format("repeats.until: got {}, expected a part such as 1 %", shown(member.value)));
  } else if (member.key == "at_most") {
    const auto count = count_in(member.value);
    if (!count)
      findings.add(member.value.place, fmt::format("repeats.at_most: got {}, expected a whole number from 1 to {}",
                                                   shown(member.value), kMostRepeats));
    repeats.at_most = count.value_or(1);
  } else {
    findings.add(member.key_place,
                 fmt::format("unknown key {} in repeats; its keys are until and at_most", in_quotes(member.key)));
  }
}

}  // namespace

Repeats repeats_of(const Document& document, Findings& findings) {
  const Member* member = find_member(document.root(), kRepeatsKey);
  if (member == nullptr || member->value.is_null()) return {};
  if (const auto count = count_in(member->value)) return {.at_most = *count, .until = std::nullopt};
  if (!member->value.is_map()) {
    findings.add(member->value.place,
                 fmt::format("repeats: got {}, expected a whole number from 1 to {}, or a map such as "
                             "{{until: 1 %, at_most: 20}}",
                             shown(member->value), kMostRepeats));
    return {};
  }
  Repeats repeats{.at_most = kUsualMostRepeats, .until = std::nullopt};
  for (const Member& one : member->value.members) read_member(one, repeats, findings);
  if (repeats.until && repeats.at_most <= kFewestUntil)
    findings.add(member->value.place,
                 fmt::format("repeats.at_most: got {}, but until needs at least {} rounds; write a larger number, or "
                             "repeats: {}",
                             repeats.at_most, kFewestUntil, repeats.at_most));
  return repeats;
}

Document without_repeats(const Document& document) {
  Value root = document.root();
  std::erase_if(root.members, [](const Member& member) { return member.key == kRepeatsKey; });
  return document.with_root(std::move(root));
}

std::string print_repeats(const Repeats& repeats) {
  if (repeats == Repeats{}) return "";
  if (!repeats.until) return fmt::format("repeats: {}\n", repeats.at_most);
  return fmt::format("repeats: {{until: {:g} %, at_most: {}}}\n", 100 * *repeats.until, repeats.at_most);
}

namespace {

// ---- the axes of a sweep ----

// Returns whether the text consists of plain words with commas between them.
bool is_plain_list_text(std::string_view text) {
  const std::vector<std::string> parts = split(text, ',');
  return std::ranges::all_of(parts, [](const std::string& part) { return is_plain_safe(trim(part)); });
}

std::string complaint_about_values(const std::string& key, const Value& value) {
  if (value.is_sequence() && !value.items.empty()) return "";
  const bool is_plain_list = value.is_scalar() && value.text.size() <= 60 && is_plain_list_text(value.text);
  return fmt::format("sweep of {}: got {}, expected a list of at least one value{}", in_quotes(key), shown(value),
                     is_plain_list ? fmt::format(" (write [{}])", value.text) : "");
}

void complain_repeated_values(const SweepAxis& axis, Findings& findings) {
  std::set<std::string> seen;
  for (const Value& value : axis.values)
    if (const std::string text = to_flow(value); !seen.insert(text).second)
      findings.add(value.place, fmt::format("sweep of {}: {} is listed twice", in_quotes(axis.key), text));
}

// If two lists are given for one key, the list of the later argument is used; within one source this is an error.
void add_axis(std::vector<SweepAxis>& axes, SweepAxis axis, Findings& findings) {
  complain_repeated_values(axis, findings);
  const auto same = std::find_if(axes.begin(), axes.end(), [&](const SweepAxis& a) { return a.key == axis.key; });
  if (same == axes.end()) return axes.push_back(std::move(axis));
  if (same->key_place.argument == axis.key_place.argument)
    return findings.add(axis.key_place, fmt::format("sweep of {} is given twice (first: {})", in_quotes(axis.key),
                                                    to_string(same->key_place)));
  if (same->key_place.argument < axis.key_place.argument) *same = std::move(axis);
}

void collect_axes(const Value& map, const std::string& prefix, std::vector<SweepAxis>& axes, Findings& findings) {
  for (const Member& member : map.members) {
    const std::string key = prefix + member.key;
    if (key == kSweepKey) {
      findings.add(member.key_place, "a sweep cannot be swept");
    } else if (key == kNumRunsKey) {
      continue;  // num_runs_in reads it
    } else if (is_distribution(member.value)) {
      if (read_distribution(key, member.value, findings))
        add_axis(axes, {key, member.key_place, member.value, {}}, findings);
    } else if (key == kRepeatsKey) {
      findings.add(member.key_place, "repeats cannot be swept: write the key outside the sweep");
    } else if (member.value.is_map()) {
      collect_axes(member.value, key + ".", axes, findings);
    } else if (const std::string complaint = complaint_about_values(key, member.value); !complaint.empty()) {
      findings.add(member.value.place, complaint);
    } else {
      add_axis(axes, {key, member.key_place, member.value, member.value.items}, findings);
    }
  }
}

// Returns whether a later argument sets the key, directly or with the whole group that contains it.
bool is_overridden(const SweepAxis& axis, const Document& document) {
  const Member* member = find_path(document.root(), axis.key);
  const auto overrides_axis = [&](const Document::Override& override) {
    if (override.argument <= axis.key_place.argument) return false;
    const bool sets_group =
        is_key_below(axis.key, override.key) && member && member->value.place.argument == override.argument;
    return override.key == axis.key || sets_group;
  };
  return std::any_of(document.overrides().begin(), document.overrides().end(), overrides_axis);
}

void complain_overlaps(const std::vector<SweepAxis>& axes, const Document& document, Findings& findings) {
  for (const SweepAxis& axis : axes) {
    for (const SweepAxis& other : axes)
      if (is_key_below(axis.key, other.key))
        findings.add(axis.key_place, fmt::format("sweep of {} overlaps the sweep of {} ({})", in_quotes(axis.key),
                                                 in_quotes(other.key), to_string(other.key_place)));
    for (const Document::Override& override : document.overrides())
      if (is_key_below(override.key, axis.key))
        findings.add(axis.key_place, fmt::format("sweep of {} would override the argument that sets {}",
                                                 in_quotes(axis.key), in_quotes(override.key)));
  }
}

// Returns the number of combinations. Counting stops at the first number above kMaxSweepCases.
size_t count_cases(const std::vector<SweepAxis>& axes) {
  size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.values.size();
    if (count > kMaxSweepCases) return count;
  }
  return count;
}

// Returns `num_runs` of the sweep; nullopt if it has none or a wrong one.
std::optional<size_t> num_runs_in(const Value& sweep, Findings& findings) {
  const Member* const member = find_member(sweep, kNumRunsKey);
  if (!member || member->value.is_null()) return std::nullopt;
  const auto count = member->value.is_scalar() ? parse_int64(member->value.text) : std::nullopt;
  if (count && *count >= 1 && *count <= static_cast<int64_t>(kMaxSweepCases)) return static_cast<size_t>(*count);
  findings.add(member->value.place, fmt::format("sweep.{}: got {}, expected a whole number from 1 to {}", kNumRunsKey,
                                                shown(member->value), kMaxSweepCases));
  return std::nullopt;
}

// A distribution has no end, so it needs num_runs. Returns whether it is missing, and complains.
bool is_endless(const std::vector<SweepAxis>& axes, Findings& findings) {
  const auto endless = std::ranges::find_if(axes, [](const SweepAxis& axis) { return is_distribution(axis.written); });
  if (endless == axes.end()) return false;
  findings.add(endless->written.place,
               fmt::format("sweep of {}: the number of runs is missing; add {}: 20 to the sweep",
                           in_quotes(endless->key), kNumRunsKey));
  return true;
}

uint64_t seed_of(const Document& document) {
  const Member* const seed = find_member(document.root(), "seed");
  return static_cast<uint64_t>(seed && seed->value.is_scalar() ? parse_int64(seed->value.text).value_or(1) : 1);
}

// Returns the last part of the key if no other axis has the same last part, else the whole key.
std::string short_name(const SweepAxis& axis, const std::vector<SweepAxis>& axes) {
  const auto ends_alike = [&](const SweepAxis& other) { return last_part(other.key) == last_part(axis.key); };
  return std::count_if(axes.begin(), axes.end(), ends_alike) == 1 ? last_part(axis.key) : axis.key;
}

std::string value_label(const Value& value) { return value.is_scalar() ? value.text : to_flow(value); }

std::string complaint_about_size(size_t num_axes, size_t num_cases, size_t num_values) {
  if (num_axes > kMaxSweepKeys) return fmt::format("sweep has more than {} keys", kMaxSweepKeys);
  constexpr size_t kMaxCopiedValues = 1000000;
  if (num_cases > kMaxSweepCases) return fmt::format("sweep has more than {} combinations", kMaxSweepCases);
  if (num_cases * num_values > kMaxCopiedValues)
    return fmt::format("sweep has {} combinations of {} values each, too many", num_cases, num_values);
  return "";
}

std::vector<SweepAxis> axes_of(const Value& sweep, const Document& document, Findings& findings) {
  if (!sweep.is_map() && !sweep.is_null())
    findings.add(sweep.place, fmt::format("sweep: got {}, expected a map from keys to lists of values", shown(sweep)));
  std::vector<SweepAxis> axes;
  collect_axes(sweep, "", axes, findings);
  std::erase_if(axes, [&](const SweepAxis& axis) { return is_overridden(axis, document); });
  complain_overlaps(axes, document, findings);
  return axes;
}

// Returns an error message about a map such as {normal: [16, 64]} as the value of a field, or "".
std::string complaint_about_name(const SweepAxis& axis, const StructSpec& spec) {
  const size_t dot = axis.key.rfind('.');
  const std::string key = axis.key.substr(0, dot), name = last_part(axis.key);
  const Entry* const entry = dot == std::string::npos ? nullptr : spec.find_path(key);
  if (!entry || !entry->field()) return "";
  const std::vector<std::string> names = distribution_names();
  if (std::ranges::find(names, name) != names.end())
    return fmt::format("sweep of {}: {} is not the only key of its map: remove the others", in_quotes(key), name);
  return fmt::format("sweep of {}: {} is not a distribution; the distributions are {}", in_quotes(key), in_quotes(name),
                     join_with_and(names));
}

// Returns an error message about a distribution of numbers that the field does not take, or "".
std::string complaint_about_kind(const SweepAxis& axis, const StructSpec& spec) {
  const Entry* const entry = spec.find_path(axis.key);
  if (!is_distribution(axis.written) || !entry || !entry->field()) return "";
  const std::string& name = axis.written.members[0].key;
  const ScalarKind kind = entry->field()->kind;
  if (kind == ScalarKind::kInteger && !name.starts_with("int_"))
    return fmt::format("sweep of {}: {} draws numbers with decimals, and the key takes integers: write int_{}",
                       in_quotes(axis.key), name, name);
  if (kind == ScalarKind::kBool || kind == ScalarKind::kChoice)
    return fmt::format("sweep of {}: {} draws numbers, which the key does not take: write a list of values",
                       in_quotes(axis.key), name);
  return "";
}

void remove_misfits(std::vector<SweepAxis>& axes, const StructSpec& spec, Findings& findings) {
  std::erase_if(axes, [&](const SweepAxis& axis) {
    std::string complaint = complaint_about_name(axis, spec);
    if (complaint.empty()) complaint = complaint_about_kind(axis, spec);
    if (!complaint.empty()) findings.add(axis.key_place, complaint);
    return !complaint.empty();
  });
}

}  // namespace

Sweep::Sweep(const Document& document, Findings& findings, const StructSpec* spec) : base_(document) {
  const Member* sweep = find_member(document.root(), kSweepKey);
  if (!sweep) return;
  place_ = sweep->key_place;
  Value root = document.root();
  std::erase_if(root.members, [](const Member& member) { return member.key == kSweepKey; });
  std::vector<SweepAxis> axes = axes_of(sweep->value, document, findings);
  if (spec != nullptr) remove_misfits(axes, *spec, findings);
  const std::optional<size_t> num_runs = num_runs_in(sweep->value, findings);
  is_drawn_ = num_runs.has_value() && !axes.empty();
  if (is_drawn_)
    for (SweepAxis& axis : axes) axis.values = draw(axis.written, axis.key, *num_runs, seed_of(document));
  else if (is_endless(axes, findings))
    axes.clear();
  const size_t num_cases = is_drawn_ ? *num_runs : count_cases(axes);
  const std::string complaint = complaint_about_size(axes.size(), num_cases, count_values(root));
  base_ = document.with_root(std::move(root));
  if (!complaint.empty()) {
    findings.add(sweep->key_place, complaint);
    return;
  }
  for (const SweepAxis& axis : axes) names_.push_back(short_name(axis, axes));
  axes_ = std::move(axes);
  num_cases_ = num_cases;
  made(0, findings);  // A swept key that cannot be set in case 0 cannot be set in later cases either.
}

const Value& Sweep::value_of(size_t axis, size_t number) const {
  if (is_drawn_) return axes_[axis].values[number];
  for (size_t i = axes_.size(); --i > axis;) number /= axes_[i].values.size();
  return axes_[axis].values[number % axes_[axis].values.size()];
}

std::string Sweep::label(size_t number) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < axes_.size(); ++i)
    parts.push_back(fmt::format("{}={}", names_[i], value_label(value_of(i, number))));
  return join(parts, " ");
}

Document Sweep::document(size_t number) const {
  Findings told_of_the_first;
  return made(number, told_of_the_first);
}

Document Sweep::made(size_t number, Findings& findings) const {
  Value root = base_.root();
  for (size_t i = axes_.size(); i-- > 0;) assign(root, axes_[i].key, axes_[i].key_place, value_of(i, number), findings);
  return base_.with_root(std::move(root));
}

std::string print_sweep(const Document& document) {
  const Member* sweep = find_member(document.root(), kSweepKey);
  if (!sweep) return "";
  Findings told_of_the_sweep;
  std::string text;
  for (const SweepAxis& axis : axes_of(sweep->value, document, told_of_the_sweep))
    text += fmt::format("  {}: {}\n", yaml_text(axis.key), to_flow(axis.written));
  if (const auto num_runs = num_runs_in(sweep->value, told_of_the_sweep); num_runs && !text.empty())
    text += fmt::format("  {}: {}\n", kNumRunsKey, *num_runs);
  return text.empty() ? "" : fmt::format("{}:\n{}", kSweepKey, text);
}

}  // namespace rnnlab::config
