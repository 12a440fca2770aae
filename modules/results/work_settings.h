// The settings of a run that make its work what it is, as texts that are equal for equal work: from config.yaml alone,
// so everyone who has the file can check what summary.json says of it. Numbers are written in one way; comments, order
// and paths do not count. A setting that is false, 0, auto, none or empty is left out, because a version that does not
// know it yet means the same: a later setting with such a default changes no hash.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "results/run_record.h"

namespace rnnlab {

// By dotted key (run_folder.h).
using Settings = std::map<std::string, std::string>;

struct WorkHashes {
  std::string model;
  std::string training;

  friend bool operator==(const WorkHashes&, const WorkHashes&) = default;
};

// The model without the file of its initial weights, which are compared by their own digest; and the training, with
// `deterministic`, without what is no part of an epoch's work or is compared apart: its length, batch size and threads.
WorkHashes work_hashes(const Settings& settings);

// Of all settings but paths: what seals config.yaml.
std::string settings_sha256(const Settings& settings);

// Whether the summary's hashes are those of above. Before version 3 they were of the printed text with its comments.
bool has_work_hashes(const Summary& summary);

// Of two runs, hashes of one kind: those of their summaries, or of their settings where one is of an old version.
std::pair<WorkHashes, WorkHashes> comparable_hashes(const RunRecord& a, const RunRecord& b);

}  // namespace rnnlab
