// One piece of work on the batches of an epoch, some at a time: eagerly, or, on a GPU with the samples on it, as CUDA
// graphs, one for each combination of batch sizes (the last batch of an epoch is often shorter). A graph holds the
// gathering of the batch too, and gives the same results as eager work, bit for bit where that is deterministic. The
// first turns, and the first of each combination, are eager, so that libraries choose their algorithms and allocate
// outside of a capture; work that cannot be captured goes on eagerly, and says why. Several turns in a row can be one
// graph, which saves the start of all but one of them, and in which a batch is gathered beside the turn before it.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/batches.h"
#include "training/cuda_graph.h"
#include "training/step_record.h"

namespace rnnlab {

enum class Replay { kNever, kGraphs };

class BatchLoop {
 public:
  // Reads nothing back from the device. What it gives is its own, until the turns that are queued with it have run.
  // `place`: among those, from 0.
  using Work = std::function<EvaluatedStep(std::span<const Batch>, int64_t place)>;

  // Whether what is so here is so for all processes that train together (Ranks::is_so_on_all).
  using Agree = std::function<bool(bool)>;

  static constexpr int64_t kTurnsOfGraph = 8;

  // At least one. What a graph gives is overwritten when that graph is queued again.
  struct Turns {
    at::Tensor rows;                   // (n, columns), of the steps
    std::vector<int64_t> counts;       // of targets
    std::vector<int64_t> num_samples;  // of all processes that train together
  };

  // `batches` must outlive this; its epochs are begun by the caller. With graphs, every call must come on the same
  // stream, which is not the default one (graph_stream). `agree`: where the work of several processes belongs together,
  // so that all of them replay graphs, or none does.
  BatchLoop(Batches& batches, int64_t batches_per_turn, Work work, Replay replay, Agree agree = {});
  ~BatchLoop();

  // How many turns next() would best be asked for where at most that many may be queued together: 1 or kTurnsOfGraph.
  int64_t turns_at_once(int64_t most) const;

  // Queues so many turns, as turns_at_once() has it. Nothing at the end of the epoch.
  std::optional<Turns> next(int64_t count = 1);

  // Why there are no graphs although they were asked for; "" where there are, or may yet be.
  const std::string& refusal() const { return refusal_; }

 private:
  struct Graph;

  int64_t samples_of_turn() const { return batches_.batch_size() * batches_per_turn_; }
  bool is_warm(int64_t num_samples) const;
  std::optional<Batch> next_batch();
  std::optional<Turns> next_eager();
  std::vector<Batch> gather(const Selection& turn) const;
  Turns run(const Selection& selection, int64_t count);
  Turns run_eager(const Selection& selection, int64_t count) const;
  Turns run_overlapped(const Selection& selection) const;
  Graph* captured(const Selection& selection, int64_t count);
  void capture(Graph& graph, const Selection& selection, int64_t count);

  Batches& batches_;
  int64_t batches_per_turn_;
  Work work_;
  Agree agree_;
  bool replays_;
  std::string refusal_;
  bool joins_turns_ = true;
  int64_t eager_turns_ = 0;
  std::set<int64_t> eager_sizes_;                     // samples of turns that have run eagerly
  std::map<int64_t, std::unique_ptr<Graph>> graphs_;  // by the samples of all turns, which tell their batches' sizes
};

// A stream to train on with graphs, of a high priority: what a layer runs beside its own work, on streams of a lower
// one, takes what is left of the GPU. Nothing where the device has no streams.
std::optional<c10::Stream> graph_stream(c10::Device device);

}  // namespace rnnlab
