// Sweeps and repeats: which cases a file asks for, and how often each is to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/value.h"

namespace rnnlab::config {

// Keys such as training.batch_size, by their parts.

// "batch_size" of "training.batch_size".
inline std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// `repeats:` in a configuration: how often each of its cases is measured, each time in a process of its own.

inline constexpr std::string_view kRepeatsKey = "repeats";
inline constexpr int64_t kMostRepeats = 1000;
inline constexpr int64_t kUsualMostRepeats = 20;  // of `until` without `at_most`
inline constexpr int64_t kFewestUntil = 7;        // rounds before a precision ends them

struct Repeats {
  int64_t at_most = 1;          // 1: once, in the process of the command itself
  std::optional<double> until;  // no more once an interval reaches at most this part of its value to each side

  friend bool operator==(const Repeats&, const Repeats&) = default;
};

// `repeats: 5`, or `repeats: {until: 1 %, at_most: 20}`; once where the document says nothing. What is wrong goes to
// `findings`.
Repeats repeats_of(const Document& document, Findings& findings);

Document without_repeats(const Document& document);

// As YAML to put below a printed configuration; "" for once.
std::string print_repeats(const Repeats& repeats);

// A `sweep:` in a configuration: every combination of the listed values, each as a document of its own, made when it is
// asked for.

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
