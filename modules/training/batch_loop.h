// Runs one piece of work on the batches of an epoch, turn by turn; a turn is one call of the work, on one batch or
// several. The work runs eagerly or, if the samples are on a GPU, as CUDA graphs. There is one graph for each
// combination of batch sizes, because the last batch of an epoch is often shorter. A graph also gathers the batch, and
// its results equal those of eager work, bit for bit if the work is deterministic. The first turns, and the first turn
// of each combination, are eager, so that libraries choose their algorithms and allocate outside of a capture. If the
// work cannot be captured, the turns stay eager and refusal() has the reason. Several turns in a row can be one graph:
// then the host starts one graph instead of several, and each batch is gathered while the turn before it runs.
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
#include "training/cuda_functions.h"
#include "training/step_record.h"

namespace rnnlab {

enum class Replay { kNever, kGraphs };

class BatchLoop {
 public:
  // The work must not read from the device. The loop reads the results of the work only after the queued turns have
  // run. `place` is the index of the turn among the turns that are queued together, from 0.
  using Work = std::function<EvaluatedStep(std::span<const Batch>, int64_t place)>;

  // Returns whether the argument is true on all processes that train together (Ranks::is_true_on_all).
  using Agree = std::function<bool(bool)>;

  static constexpr int64_t kTurnsOfGraph = 8;

  // Holds the results of one turn or more. A replay of a graph overwrites the results of its last replay.
  struct Turns {
    at::Tensor rows;                   // (n, columns) of the steps
    std::vector<int64_t> counts;       // number of targets
    std::vector<int64_t> num_samples;  // of all processes that train together
  };

  // `batches` must outlive this loop; the caller begins its epochs. With graphs, every call must use the same stream,
  // which must not be the default stream (graph_stream). `agree` is given if the work of several processes belongs
  // together; then either all processes replay graphs or none of them does.
  BatchLoop(Batches& batches, int64_t batches_per_turn, Work work, Replay replay, Agree agree = {});
  ~BatchLoop();

  // Returns the best argument for next() if at most `most` turns may be queued together: 1 or kTurnsOfGraph.
  int64_t turns_at_once(int64_t most) const;

  // Queues `count` turns, a number that turns_at_once() returned. Returns nothing at the end of the epoch.
  std::optional<Turns> next(int64_t count = 1);

  // Returns the reason why graphs that were requested are not used; "" if graphs are used or may still be used.
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
  std::map<int64_t, std::unique_ptr<Graph>> graphs_;  // by the samples of all turns, from which the batch sizes follow
};

// Returns a stream for training with graphs, or nothing if the device has no streams. The stream has a high priority,
// so that work which a layer runs at the same time on streams of a lower priority gets the rest of the GPU.
std::optional<c10::Stream> graph_stream(c10::Device device);

}  // namespace rnnlab
