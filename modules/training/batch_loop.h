// One piece of work on the batches of an epoch, some at a time: eagerly, or, on a GPU with the samples on it, as CUDA
// graphs, one for each combination of batch sizes (the last batch of an epoch is often shorter). A graph holds the
// gathering of the batch too, and gives the same results as eager work, bit for bit where that is deterministic. The
// first turns, and the first of each combination, are eager, so that libraries choose their algorithms and allocate
// outside of a capture; work that cannot be captured goes on eagerly, and says why.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  // Reads nothing back from the device. What it gives is overwritten by its next run.
  using Work = std::function<EvaluatedStep(std::span<const Batch>)>;

  struct Turn {
    EvaluatedStep step;
    int64_t num_samples = 0;
  };

  // `batches` must outlive this; its epochs are begun by the caller. With graphs, every call must come on the same
  // stream, which is not the default one (graph_stream).
  BatchLoop(Batches& batches, int64_t batches_per_turn, Work work, Replay replay);
  ~BatchLoop();

  // Nothing at the end of the epoch.
  std::optional<Turn> next();

  // Why there are no graphs although they were asked for; "" where there are, or may yet be.
  const std::string& refusal() const { return refusal_; }

 private:
  struct Graph;

  std::optional<Batch> next_batch();
  std::vector<Batch> gather(const std::vector<at::Tensor>& selections) const;
  std::optional<Turn> next_eager();
  std::optional<Turn> next_replayed();
  EvaluatedStep run(Graph& graph, const std::vector<at::Tensor>& selections);
  EvaluatedStep run_eager(const std::vector<at::Tensor>& selections) const;
  void capture(Graph& graph, const std::vector<at::Tensor>& selections);

  Batches& batches_;
  int64_t batches_per_turn_;
  Work work_;
  bool replays_;
  std::string refusal_;
  int64_t eager_turns_ = 0;
  std::map<std::vector<int64_t>, std::unique_ptr<Graph>> graphs_;  // by the sizes of a turn's batches
};

// A stream to train on with graphs, of a high priority: what a layer runs beside its own work, on streams of a lower
// one, takes what is left of the GPU. Nothing where the device has no streams.
std::optional<c10::Stream> graph_stream(c10::Device device);

}  // namespace rnnlab
