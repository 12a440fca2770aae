// A `sweep:` in a configuration: every combination of the listed values, each as a document of its own, made when it is
// asked for.
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

// One swept key.
struct SweepAxis {
  std::string key;  // dotted
  Place key_place;
  std::vector<Value> values;
};

// `sweep: {device: [cpu, cuda], training.batch_size: [64, 128]}`, or with nested maps instead of dotted keys. The last
// key varies fastest. A key that the command line overrides (later than its sweep) leaves the sweep: the override wins.
// A document without a sweep is one case without a label. Whether the keys exist is found when the cases are read.
class Sweep {
 public:
  Sweep(const Document& document, Findings& findings);

  size_t num_cases() const { return num_cases_; }

  // "device=cpu layer=naive": the last part of each key, or the whole key where two end alike.
  std::string label(size_t number) const;

  // Without `sweep`; swept values keep their places in the sweep's lists.
  Document document(size_t number) const;

 private:
  const Value& value_of(size_t axis, size_t number) const;
  Document made(size_t number, Findings& findings) const;

  Document base_;
  std::vector<SweepAxis> axes_;
  std::vector<std::string> names_;  // of the axes, in labels
  size_t num_cases_ = 1;
};

// The combinations that a Sweep has, as YAML to put below a printed configuration; "" where there are none.
std::string print_sweep(const Document& document);

}  // namespace rnnlab::config
