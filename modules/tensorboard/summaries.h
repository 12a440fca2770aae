// Encodes the messages that TensorBoard shows: scalars, histograms, hyperparameters and a graph.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rnnlab::tensorboard {

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

// Returns a Summary message for the end of the session. A session that may be resumed has none.
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
