// SPDX-License-Identifier: Apache-2.0
// Sweeps and repeats: the cases that a file requests, and how often each case runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/document.h"
#include "base/config/value.h"

namespace rnnlab::config {

// Helper for dotted keys such as training.batch_size.

// Returns "batch_size" for "training.batch_size".
inline std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// `repeats:` in a configuration says how often each of its cases is measured, each time in a separate process.

inline constexpr std::string_view kRepeatsKey = "repeats";
inline constexpr int64_t kMostRepeats = 1000;
inline constexpr int64_t kUsualMostRepeats = 20;  // default of `at_most` if `until` is given
inline constexpr int64_t kFewestUntil = 7;        // rounds before `until` can end the repeats

struct Repeats {
  int64_t at_most = 1;          // 1: once, in the process of the command itself
  std::optional<double> until;  // end when every interval reaches at most this part of its value to each side

  friend bool operator==(const Repeats&, const Repeats&) = default;
};

// Reads `repeats: 5`, or `repeats: {until: 1 %, at_most: 20}`; one run if the document has no `repeats`. Errors are
// added to `findings`.
Repeats repeats_of(const Document& document, Findings& findings);

Document without_repeats(const Document& document);

// Returns YAML to append to a printed configuration; "" for one run.
std::string print_repeats(const Repeats& repeats);

// `sweep:` in a configuration requests every combination of the listed values, or, with `num_runs`, this number of
// combinations that are drawn by the file's `seed`. Drawn values are a pure function of the seed and the key, on every
// machine, and a larger `num_runs` only adds values. Each combination is a separate document, which is created on
// request.

struct StructSpec;  // base/config/schema.h

inline constexpr std::string_view kNumRunsKey = "num_runs";  // in a sweep
inline constexpr size_t kMaxSweepCases = 1000;
inline constexpr size_t kMaxSweepKeys = 32;

// A swept key and its values.
struct SweepAxis {
  std::string key;  // dotted
  Place key_place;
  Value written;              // a list of values, or a distribution such as {uniform: [0, 1]}
  std::vector<Value> values;  // listed, or one drawn for each case
};

// Reads `sweep: {device: [cpu, cuda], training.batch_size: [64, 128]}`, or the same with nested maps instead of dotted
// keys. The last key varies fastest. `{training.learning_rate: {log_uniform: [1e-4, 1e-2]}, num_runs: 20}` draws the
// values of all keys; a list is drawn from, too. A key that a later argument of the command line overrides is removed
// from the sweep. A document without a sweep is one case without a label. The keys are checked when the cases are read.
// With `spec`, distributions are checked against the kinds of their fields, so that a mistake is reported once and not
// for each value that is drawn.
class Sweep {
 public:
  Sweep(const Document& document, Findings& findings, const StructSpec* spec = nullptr);

  size_t num_cases() const { return num_cases_; }

  // Returns whether the values are drawn (num_runs), so that equal ones are chance.
  bool is_drawn() const { return is_drawn_; }

  // Returns the place of the key `sweep`; that of the first key if the whole sweep is an argument.
  const Place& place() const { return place_; }

  // Returns a label such as "device=cpu layer=naive", with the last part of each key, or the whole key if two keys have
  // the same last part.
  std::string label(size_t number) const;

  // Returns the document of a case, without `sweep`. Swept values keep their places in the lists of the sweep.
  Document document(size_t number) const;

 private:
  const Value& value_of(size_t axis, size_t number) const;
  Document made(size_t number, Findings& findings) const;

  Document base_;
  std::vector<SweepAxis> axes_;
  std::vector<std::string> names_;  // of the axes, in labels
  size_t num_cases_ = 1;
  bool is_drawn_ = false;
  Place place_;
};

// Returns the combinations of a Sweep as YAML to append to a printed configuration; "" if the document has no sweep.
std::string print_sweep(const Document& document);

}  // namespace rnnlab::config
