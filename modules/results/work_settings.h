// SPDX-License-Identifier: Apache-2.0
// Reduces the settings that determine the work of a run to hashes that are equal for equal work. The hashes are
// computed from config.yaml alone, so everyone who has the file can check the hashes in summary.json. Numbers are
// written in one form; comments, order and paths are ignored. A setting that is false, 0, auto, none or empty is left
// out, because a version that does not know the setting yet means the same. So a later setting with such a default does
// not change a hash.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace rnnlab {

// The keys are dotted (run_folder.h).
using Settings = std::map<std::string, std::string>;

// Returns whether the setting has one meaning in both files. A file of a version that does not know the setting lacks
// it and means false, 0, auto, none or empty. Paths are equal if their last names are, because data are compared by
// their content.
bool is_same_setting(std::string_view key, const Settings& a, const Settings& b);

// Returns the keys of settings that do not have one meaning in both files, in alphabetical order.
std::set<std::string> unequal_settings(const Settings& a, const Settings& b);

struct WorkHashes {
  std::string model;
  std::string training;

  friend bool operator==(const WorkHashes&, const WorkHashes&) = default;
};

// Returns whether a setting says which of equal runs this one is, and not what it computes: the seed, the device and
// the layer, of which the summary has those that `auto` chose, and `strict`, which changes nothing in a run.
// Comparisons show them elsewhere.
bool is_choice_of_run(std::string_view key);

// Returns whether the hashes of work_hashes cover a setting. The field lists of the settings mark the others of their
// sections with config::Change::kOnCompare; a test of the module runs holds both equal.
bool is_compared_work(std::string_view key);

// Returns the hash of the model without the file of its initial weights, which have their own hash, and the hash of the
// training settings with `deterministic`. The latter leaves out what does not belong to the work of an epoch or is
// compared separately: the length of training, batch size and threads.
WorkHashes work_hashes(const Settings& settings);

// Returns the hash of all settings except paths, which seals config.yaml.
std::string settings_sha256(const Settings& settings);

}  // namespace rnnlab
