// A `sweep:` in a configuration: every combination of the listed values, each as a document of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/findings.h"

namespace rnnlab::config {

inline constexpr std::string_view kSweepKey = "sweep";
inline constexpr size_t kMaxSweepCases = 1000;
inline constexpr size_t kMaxSweepKeys = 32;

struct SweepCase {
  std::string label;  // "device=cpu layer=naive": the last part of each key, or the whole key where two end alike
  Document document;  // without `sweep`; swept values keep their places in the sweep's lists
};

// `sweep: {device: [cpu, cuda], training.batch_size: [64, 128]}`, or with nested maps instead of dotted keys. The last
// key varies fastest. A key that the command line overrides (later than its sweep) leaves the sweep: the override wins.
// A document without a sweep is one case without a label. Whether the keys exist is found when the cases are read.
std::vector<SweepCase> expand_sweep(const Document& document, Findings& findings);

// The sweep that expand_sweep runs, as YAML to put below a printed configuration; "" where there is none.
std::string print_sweep(const Document& document);

}  // namespace rnnlab::config
