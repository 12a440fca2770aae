// What TensorBoard shows, as the bytes of its messages: scalars, histograms, hyperparameters and a graph.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rnnlab::tensorboard {

// A Summary message: one value. The reader takes it as float32.
std::string scalar_summary(std::string_view tag, double value);

// How often values lie where, for TensorBoard's histograms and distributions.

inline constexpr int64_t kNumBuckets = 30;  // as TensorBoard's own writers have

struct Histogram {
  double lowest = 0;
  double highest = 0;
  double sum = 0;  // of the values
  double sum_of_squares = 0;
  std::span<const double> counts;  // kNumBuckets of equal width from the lowest to the highest value
};

// A Summary message.
std::string histogram_summary(std::string_view tag, const Histogram& histogram);

// A run's settings and end for TensorBoard's HParams dashboard, which sets them beside the metrics of the run's scalars
// (the plugin's plugin_data.proto).

// A Summary message: the session began. Settings by key, each "true" or "false", a number, or a text. The session has
// no group name, so TensorBoard shows each run as a row of its own: it would show a group as one row of mean metrics.
std::string session_start(const std::map<std::string, std::string>& settings);

enum class SessionEnd { kDone = 1, kFailed = 2 };

// A Summary message: the session ended. One that may yet go on has none.
std::string session_end(SessionEnd end);

// A network as TensorBoard draws it: nodes with their operations and the shapes of what they give, joined by name. A
// slash in a name puts a node into a scope, which is drawn as one box that opens.

struct GraphNode {
  std::string name;  // "dense0/product"
  std::string operation;
  std::vector<std::string> inputs = {};  // names of nodes
  std::vector<int64_t> shape = {};       // of its output; -1 where it varies
  std::vector<std::pair<std::string, std::string>> attributes = {};
};

// A GraphDef message.
std::string graph_def_of(const std::vector<GraphNode>& nodes);

}  // namespace rnnlab::tensorboard
