// SPDX-License-Identifier: Apache-2.0
#include "results/work_settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// These settings determine how long a run lasts, are compared separately, or change how a step is started, but never
// what the step computes. Hashes of stored runs depend on this list.
constexpr std::array<std::string_view, 15> kNotCompared = {"training.epochs",
                                                           "training.max_steps",
                                                           "training.max_seconds",
                                                           "training.metrics",
                                                           "training.early_stopping",
                                                           "training.patience",
                                                           "training.min_delta",
                                                           "training.warmup_epochs",
                                                           "training.num_threads",
                                                           "training.batch_size",
                                                           "training.tensorboard",
                                                           "training.tensorboard_histograms",
                                                           "training.tensorboard_machine",
                                                           "training.cuda_graph",
                                                           "training.shards"};

constexpr std::array<std::string_view, 14> kPaths = {
    "model.initial_weights", "data.path",          "data.train_inputs",  "data.train_targets", "data.train_lengths",
    "data.valid_inputs",     "data.valid_targets", "data.valid_lengths", "data.train_file",    "data.valid_file",
    "data.test_inputs",      "data.test_targets",  "data.test_lengths",  "data.test_file"};

template <size_t N>
bool is_one_of(std::string_view key, const std::array<std::string_view, N>& keys) {
  return std::ranges::find(keys, key) != keys.end();
}

// "0.10" and "0.1" are the same number.
std::string canonical(const std::string& value) {
  const auto number = parse_double(value);
  return number ? format_shortest(*number) : value;
}

bool is_neutral(const std::string& value) {
  constexpr std::array<std::string_view, 7> kNeutral = {"", "\"\"", "[]", "0", "false", "auto", "none"};
  return is_one_of(value, kNeutral);
}

// A file without one of these keys means this value: the keys came later than other files. Hashes of stored runs depend
// on this list.
bool is_as_without_key(std::string_view key, const std::string& value) {
  return (key == "model.candidate" && value == "positive") || (key == "model.heads" && value == "1") ||
         (key == "model.front_kernel_size" && value == "5") || (key == "model.front_stride" && value == "1") ||
         (key == "data.inputs_from" && value == "part") || (key == "training.alpha" && value == "0.99") ||
         (key == "data.target_as" && value == "value") || (key == "data.scale_by" && value == "file") ||
         (key == "data.decimal" && (value == "." || value == "\".\""));
}

// Like is_as_without_key, for keys whose values are in the hashes of runs.
bool is_default_of_later_key(std::string_view key, const std::string& value) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kDefaults = {{
      {"data.target_per", "sequence"},
      {"data.unsorted", "error"},
      {"data.duplicates", "error"},
      {"data.gaps", "error"},
      {"data.missing_words",
       "[NA, N/A, NaN, \"null\", \"?\", None, \"#N/A\", \"#NA\", NaT, \"<NA>\", n.a., nil, -nan, \"-\", \"--\"]"},
      {"distributed.timeout", "30"},
      {"distributed.start_timeout", "120"},
  }};
  return std::ranges::count(kDefaults, std::pair(key, std::string_view(value))) > 0;
}

template <class Wanted>
std::string digest_of(const Settings& settings, Wanted is_wanted) {
  Sha256 digest;
  for (const auto& [key, value] : settings) {
    const std::string text = canonical(value);
    if (is_wanted(key) && !is_neutral(text) && !is_as_without_key(key, text)) digest.update(key + "=" + text + "\n");
  }
  return digest.hex();
}

bool is_of_model(std::string_view key) { return key.starts_with("model.") && !is_one_of(key, kPaths); }

bool is_of_training(std::string_view key) {
  const bool is_end_of_run = key.starts_with("training.stop_at");
  return key == "deterministic" || (key.starts_with("training.") && !is_end_of_run && !is_one_of(key, kNotCompared));
}

// Returns the value in the form in which it is compared.
std::string compared_value(std::string_view key, const std::string& value) {
  return is_one_of(key, kPaths) ? last_name(value) : canonical(value);
}

}  // namespace

bool is_same_setting(std::string_view key, const Settings& a, const Settings& b) {
  const auto in_a = a.find(std::string(key)), in_b = b.find(std::string(key));
  if (in_a == a.end() && in_b == b.end()) return true;
  if (in_a != a.end() && in_b != b.end()) return compared_value(key, in_a->second) == compared_value(key, in_b->second);
  const std::string value = canonical(in_a != a.end() ? in_a->second : in_b->second);
  return is_neutral(value) || is_as_without_key(key, value) || is_default_of_later_key(key, value);
}

std::set<std::string> unequal_settings(const Settings& a, const Settings& b) {
  std::set<std::string> keys;
  for (const Settings* settings : {&a, &b})
    for (const auto& [key, value] : *settings)
      if (!is_same_setting(key, a, b)) keys.insert(key);
  return keys;
}

bool is_choice_of_run(std::string_view key) {
  constexpr std::array<std::string_view, 5> kChoices = {"seed", "device", "layer", "auto_layer", "strict"};
  return is_one_of(key, kChoices);
}

bool is_compared_work(std::string_view key) { return is_of_model(key) || is_of_training(key); }

WorkHashes work_hashes(const Settings& settings) {
  return {.model = digest_of(settings, is_of_model), .training = digest_of(settings, is_of_training)};
}

std::string settings_sha256(const Settings& settings) {
  return digest_of(settings, [](const std::string& key) { return !is_one_of(key, kPaths); });
}

}  // namespace rnnlab
