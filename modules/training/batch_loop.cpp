#include "training/batch_loop.h"

#include <c10/cuda/CUDAStream.h>

#include "base/error.h"
#include "training/trace_range.h"

namespace rnnlab {
namespace {

std::string why_no_graphs(const Batches& batches) {
  if (batches.placement() != Placement::kDevice) return "the samples are not on the GPU (data.placement)";
  if (!batches.has_selections()) return "the batches come by way of the host: on a CPU, or sequences of varied lengths";
  return "";
}

std::vector<int64_t> sizes_of(const std::vector<at::Tensor>& selections) {
  std::vector<int64_t> sizes;
  for (const at::Tensor& selection : selections) sizes.push_back(selection.size(0));
  return sizes;
}

int64_t sum(const std::vector<int64_t>& sizes) {
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  return total;
}

}  // namespace

struct BatchLoop::Graph {
  std::vector<at::Tensor> selections;  // where the captured work reads them
  bool has_run = false;                // eagerly, in these sizes
  std::unique_ptr<CapturedWork> captured;
  EvaluatedStep result;
};

BatchLoop::BatchLoop(Batches& batches, int64_t batches_per_turn, Work work, Replay replay)
    : batches_(batches),
      batches_per_turn_(batches_per_turn),
      work_(std::move(work)),
      replays_(replay == Replay::kGraphs && why_no_graphs(batches).empty()),
      refusal_(replay == Replay::kGraphs ? why_no_graphs(batches) : "") {}

BatchLoop::~BatchLoop() = default;

std::optional<BatchLoop::Turn> BatchLoop::next() { return replays_ ? next_replayed() : next_eager(); }

std::optional<Batch> BatchLoop::next_batch() {
  const TraceRange range("batch");
  return batches_.next();
}

std::optional<BatchLoop::Turn> BatchLoop::next_eager() {
  // All batches of one turn, for the weight of each may depend on the size of all.
  std::vector<Batch> turn;
  int64_t num_samples = 0;
  while (std::ssize(turn) < batches_per_turn_) {
    auto batch = next_batch();
    if (!batch) break;
    num_samples += batch->size;
    turn.push_back(std::move(*batch));
  }
  if (turn.empty()) return std::nullopt;
  return Turn{work_(turn), num_samples};
}

std::optional<BatchLoop::Turn> BatchLoop::next_replayed() {
  std::vector<at::Tensor> selections;
  while (std::ssize(selections) < batches_per_turn_) {
    const auto selection = batches_.next_selection();
    if (!selection) break;
    selections.push_back(*selection);
  }
  if (selections.empty()) return std::nullopt;
  auto& graph = graphs_[sizes_of(selections)];
  if (!graph) graph = std::make_unique<Graph>();
  return Turn{run(*graph, selections), sum(sizes_of(selections))};
}

EvaluatedStep BatchLoop::run(Graph& graph, const std::vector<at::Tensor>& selections) {
  const bool is_warm = eager_turns_ >= CapturedWork::kWarmupRuns && graph.has_run;
  if (!is_warm || !refusal_.empty()) {
    ++eager_turns_;
    graph.has_run = true;
    return run_eager(selections);
  }
  if (!graph.captured) capture(graph, selections);
  if (!graph.captured) return run_eager(selections);
  const TraceRange range("graph replay");
  for (size_t i = 0; i < selections.size(); ++i) graph.selections[i].copy_(selections[i]);
  graph.captured->replay();
  return graph.result;
}

std::vector<Batch> BatchLoop::gather(const std::vector<at::Tensor>& selections) const {
  const TraceRange range("batch");
  std::vector<Batch> turn;
  for (const at::Tensor& selection : selections) turn.push_back(batches_.gather(selection));
  return turn;
}

EvaluatedStep BatchLoop::run_eager(const std::vector<at::Tensor>& selections) const {
  return work_(gather(selections));
}

void BatchLoop::capture(Graph& graph, const std::vector<at::Tensor>& selections) {
  const TraceRange range("graph capture");
  for (const at::Tensor& selection : selections) graph.selections.push_back(selection.clone());
  auto captured = std::make_unique<CapturedWork>(selections.front().device());
  try {
    captured->capture_warm([&] { graph.result = run_eager(graph.selections); });
    graph.captured = std::move(captured);
  } catch (const UserError& error) {
    refusal_ = error.what();
  }
}

std::optional<c10::Stream> graph_stream(c10::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  return c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index()).unwrap();
}

}  // namespace rnnlab
