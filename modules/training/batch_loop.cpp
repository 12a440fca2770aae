#include "training/batch_loop.h"

#include <ATen/ops/stack.h>

#include "base/error.h"
#include "recurrent/gpu_device.h"
#include "recurrent/unrolled/lanes.h"
#include "training/trace_range.h"

namespace rnnlab {
namespace {

std::string why_no_graphs(const Batches& batches) {
  if (batches.placement() != Placement::kDevice) return "the samples are not on the GPU (data.placement)";
  if (!batches.has_selections()) return "the batches come by way of the host: on a CPU, or sequences of varied lengths";
  return "";
}

BatchLoop::Turns turns_of(const std::vector<EvaluatedStep>& steps, const std::vector<int64_t>& num_samples) {
  BatchLoop::Turns turns = {{}, {}, num_samples};
  std::vector<at::Tensor> rows;
  for (const EvaluatedStep& step : steps) {
    rows.push_back(step.row);
    turns.counts.push_back(step.count);
  }
  turns.rows = rows.size() == 1 ? rows.front().unsqueeze(0) : at::stack(rows);
  return turns;
}

}  // namespace

struct BatchLoop::Graph {
  at::Tensor selection;  // where the captured work reads it
  std::unique_ptr<CapturedWork> work;
  Turns result;
};

BatchLoop::BatchLoop(Batches& batches, int64_t batches_per_turn, Work work, Replay replay)
    : batches_(batches),
      batches_per_turn_(batches_per_turn),
      work_(std::move(work)),
      replays_(replay == Replay::kGraphs && why_no_graphs(batches).empty()),
      refusal_(replay == Replay::kGraphs ? why_no_graphs(batches) : "") {}

BatchLoop::~BatchLoop() = default;

int64_t BatchLoop::turns_at_once(int64_t most) const {
  const bool can_join = replays_ && refusal_.empty() && joins_turns_ && is_warm(samples_of_turn());
  const bool are_there = batches_.full_batches_left() >= kTurnsOfGraph * batches_per_turn_;
  return can_join && are_there && most >= kTurnsOfGraph ? kTurnsOfGraph : 1;
}

std::optional<BatchLoop::Turns> BatchLoop::next(int64_t count) {
  if (!replays_) return next_eager();
  const auto selection = batches_.next_selection(count * batches_per_turn_);
  if (!selection) return std::nullopt;
  return run(*selection, count);
}

bool BatchLoop::is_warm(int64_t num_samples) const {
  return eager_turns_ >= CapturedWork::kWarmupRuns && eager_sizes_.contains(num_samples);
}

std::optional<Batch> BatchLoop::next_batch() {
  const TraceRange range("batch");
  return batches_.next();
}

std::optional<BatchLoop::Turns> BatchLoop::next_eager() {
  // All batches of one turn, for the weight of each may depend on the size of all.
  std::vector<Batch> turn;
  int64_t num_samples = 0;
  while (std::ssize(turn) < batches_per_turn_) {
    auto batch = next_batch();
    if (!batch) break;
    num_samples += batch->whole_size;
    turn.push_back(std::move(*batch));
  }
  if (turn.empty()) return std::nullopt;
  return turns_of({work_(turn, 0)}, {num_samples});
}

std::vector<Batch> BatchLoop::gather(const at::Tensor& selection) const {
  const TraceRange range("batch");
  std::vector<Batch> turn;
  for (const at::Tensor& batch : selection.split(batches_.batch_size())) turn.push_back(batches_.gather(batch));
  return turn;
}

BatchLoop::Turns BatchLoop::run(const at::Tensor& selection, int64_t count) {
  const int64_t num_samples = selection.size(0) / count;
  Graph* const graph = refusal_.empty() && is_warm(num_samples) ? captured(selection, count) : nullptr;
  if (graph == nullptr) {
    eager_turns_ += count;
    eager_sizes_.insert(num_samples);
    return run_eager(selection, count);
  }
  const TraceRange range("graph replay");
  graph->selection.copy_(selection);
  graph->work->replay();
  return graph->result;
}

BatchLoop::Turns BatchLoop::run_eager(const at::Tensor& selection, int64_t count) const {
  std::vector<EvaluatedStep> steps;
  for (const at::Tensor& turn : selection.chunk(count)) steps.push_back(work_(gather(turn), std::ssize(steps)));
  return turns_of(steps, std::vector<int64_t>(steps.size(), selection.size(0) / count));
}

// Of full turns. Every batch but the first is gathered on a lane of its own, beside the turn before.
BatchLoop::Turns BatchLoop::run_overlapped(const at::Tensor& selection, int64_t count) const {
  constexpr size_t kMainLane = 0;
  constexpr size_t kGatherLane = 3;  // a side lane: a pass may use its stream too, which only puts their work in order
  Lanes lanes(selection.device(), kGatherLane);
  const std::vector<at::Tensor> turns = selection.chunk(count);
  std::vector<std::vector<Batch>> batches = {gather(turns.front())};  // until the end: no lane gets the memory again
  std::vector<EvaluatedStep> steps;
  for (size_t i = 0; i < turns.size(); ++i) {
    lanes.order(kMainLane, kGatherLane);
    if (i + 1 < turns.size()) lanes.run(kGatherLane, [&] { batches.push_back(gather(turns[i + 1])); });
    steps.push_back(work_(batches[i], static_cast<int64_t>(i)));
    lanes.order(kGatherLane, kMainLane);
  }
  lanes.join();
  return turns_of(steps, std::vector<int64_t>(steps.size(), selection.size(0) / count));
}

BatchLoop::Graph* BatchLoop::captured(const at::Tensor& selection, int64_t count) {
  auto& graph = graphs_[selection.size(0)];
  if (!graph) graph = std::make_unique<Graph>();
  if (!graph->work) capture(*graph, selection, count);
  return graph->work ? graph.get() : nullptr;
}

void BatchLoop::capture(Graph& graph, const at::Tensor& selection, int64_t count) {
  const TraceRange range("graph capture");
  graph.selection = selection.clone();
  auto work = make_captured_work(selection.device());
  try {
    work->capture_warm(
        [&] { graph.result = count == 1 ? run_eager(graph.selection, 1) : run_overlapped(graph.selection, count); });
    graph.work = std::move(work);
  } catch (const UserError& error) {
    if (count > 1)
      joins_turns_ = false;  // there may be memory enough for one
    else
      refusal_ = error.what();
  }
}

std::optional<c10::Stream> graph_stream(c10::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  return stream_from_pool(device, kHighPriority);
}

}  // namespace rnnlab
