// SPDX-License-Identifier: Apache-2.0
// TensorBoard's event files, and the messages that they contain: scalars, histograms, hyperparameters and a graph. A
// file is a sequence of records (TFRecord) of events (TensorFlow's event.proto). Each record is appended with one
// write(2); a full disk is an error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/files.h"

namespace rnnlab::tensorboard {

// Returns the CRC-32C (Castagnoli's polynomial), by an instruction of SSE 4.2, which every processor with AVX2 has.
uint32_t crc32c(std::string_view bytes);

// Returns seconds since 1970, as events store them.
inline double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline constexpr const char* kAnyMachine = "rnnlab";

class EventFile {
 public:
  // Creates a new file, events.out.tfevents.<seconds>.<machine>.<process>, which readers read after the existing files
  // of the folder. `machine` is usually not the host's name, because event files are shared. Throws UserError kDevice.
  explicit EventFile(const std::filesystem::path& folder, std::string machine = kAnyMachine);

  // Makes readers drop the values of earlier files for this step and later steps. Like all functions below, it throws
  // UserError kDevice.
  void append_start(int64_t first_step);
  void append_summary(int64_t step, std::string_view summary);
  void append_graph(std::string_view graph_def);

  // Waits until the file is on the disk.
  void sync() { file_.sync(); }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void append_event(std::string_view event);

  AppendFile file_;
};

// Returns `data` as one record: 8 bytes of length, 4 bytes of its checksum, the data, 4 bytes of its checksum;
// little-endian.
std::string as_record(std::string_view data);

// Returns a Summary message with one value. Readers read the value as float32.
std::string scalar_summary(std::string_view tag, double value);

inline constexpr int64_t kNumBuckets = 30;  // as in TensorBoard's own writers

struct Histogram {
  double lowest = 0;
  double highest = 0;
  double sum = 0;  // of the values
  double sum_of_squares = 0;
  std::span<const double> counts;  // kNumBuckets of equal width from the lowest to the highest value
};

// Returns a Summary message with the number of values in each bucket, for TensorBoard's histograms and distributions.
std::string histogram_summary(std::string_view tag, const Histogram& histogram);

// The settings and the end of a run for TensorBoard's HParams dashboard, which shows them next to the metrics of the
// run's scalars (the plugin's plugin_data.proto).

// Returns a Summary message for the start of the session. `settings` are by key, each "true" or "false", a number, or a
// text. The session has no group name, so TensorBoard shows each run in a separate row: it would show a group as one
// row of mean metrics.
std::string session_start(const std::map<std::string, std::string>& settings);

enum class SessionEnd { kDone = 1, kFailed = 2 };

// Returns a Summary message for the end of the session. A session that may be resumed has no such message.
std::string session_end(SessionEnd end);

// A network as TensorBoard draws it: nodes with their operations and the shapes of their outputs, connected by name. A
// slash in a name puts a node into a scope, which is drawn as one box that can be expanded.
struct GraphNode {
  std::string name;  // "dense0/product"
  std::string operation;
  std::vector<std::string> inputs = {};  // names of nodes
  std::vector<int64_t> shape = {};       // of its output; -1 if it varies
  std::vector<std::pair<std::string, std::string>> attributes = {};
};

// Returns a GraphDef message.
std::string graph_def_of(const std::vector<GraphNode>& nodes);

}  // namespace rnnlab::tensorboard
