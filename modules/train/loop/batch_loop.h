// SPDX-License-Identifier: Apache-2.0
// Runs one piece of work on the batches of an epoch, step by step; a step is one call of the work, on one batch or
// several. The work runs eagerly or, if the samples are on a GPU, as CUDA graphs. There is one graph for each
// combination of batch sizes, because the last batch of an epoch is often shorter. A graph also gathers the batch, and
// its results equal those of eager work, bit for bit if the work is deterministic. The first steps, and the first step
// of each combination, are eager, so that libraries choose their algorithms and allocate outside of a capture. If the
// work cannot be captured, the steps stay eager and fallback_reason() has the reason. Several steps in a row can be one
// graph: then the host starts one graph instead of several, and each batch is gathered while the step before it runs.
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
#include "train/loop/cuda_functions.h"
#include "train/loop/step_record.h"

namespace rnnlab {

enum class Replay { kNever, kGraphs };

class BatchLoop {
 public:
  // The work must not read from the device. The loop reads the results of the work only after the queued steps have
  // run. `slot` is the index of the step among the steps that are queued together, from 0.
  using Work = std::function<EvaluatedStep(std::span<const Batch>, int64_t slot)>;

  // Returns whether the argument is true on all processes that train together (Ranks::is_true_on_all).
  using Agree = std::function<bool(bool)>;

  static constexpr int64_t kStepsPerGraph = 8;

  // Holds the results of one step or more. A replay of a graph overwrites the results of its last replay.
  struct StepResults {
    at::Tensor rows;                   // (n, columns) of the steps
    std::vector<int64_t> counts;       // number of targets
    std::vector<int64_t> num_samples;  // of all processes that train together
  };

  // `batches` must outlive this loop; the caller begins its epochs. With graphs, every call must use the same stream,
  // which must not be the default stream (graph_stream). `agree` is given if the work of several processes belongs
  // together; then either all processes replay graphs or none of them does.
  BatchLoop(Batches& batches, int64_t batches_per_step, Work work, Replay replay, Agree agree = {});
  ~BatchLoop();

  // Returns the best argument for next() if at most `most` steps may be queued together: 1 or kStepsPerGraph.
  int64_t steps_per_launch(int64_t most) const;

  // Queues `count` steps, a number that steps_per_launch() returned. Returns nothing at the end of the epoch.
  std::optional<StepResults> next(int64_t count = 1);

  // Returns the reason why graphs that were requested are not used; "" if graphs are used or may still be used.
  const std::string& fallback_reason() const { return fallback_reason_; }

 private:
  struct Graph;

  int64_t samples_per_step() const { return batches_.batch_size() * batches_per_step_; }
  bool is_warm(int64_t num_samples) const;
  std::optional<Batch> next_batch();
  std::optional<StepResults> next_eager();
  std::vector<Batch> gather(const Selection& step) const;
  StepResults run(const Selection& selection, int64_t count);
  StepResults run_eager(const Selection& selection, int64_t count) const;
  StepResults run_overlapped(const Selection& selection) const;
  Graph* captured(const Selection& selection, int64_t count);
  void capture(Graph& graph, const Selection& selection, int64_t count);

  Batches& batches_;
  int64_t batches_per_step_;
  Work work_;
  Agree agree_;
  bool replays_;
  std::string fallback_reason_;
  bool can_join_steps_ = true;
  int64_t num_eager_steps_ = 0;
  std::set<int64_t> eager_sizes_;                     // samples of steps that have run eagerly
  std::map<int64_t, std::unique_ptr<Graph>> graphs_;  // by the samples of all steps, from which the batch sizes follow
};

// Returns a stream for training with graphs, or nothing if the device has no streams. The stream has a high priority,
// so that work which a layer runs at the same time on streams of a lower priority gets the rest of the GPU.
std::optional<c10::Stream> graph_stream(c10::Device device);

}  // namespace rnnlab
