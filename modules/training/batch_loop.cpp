#include "training/batch_loop.h"

#include <ATen/ops/stack.h>

#include <numeric>

#include "base/error.h"
#include "recurrent/device/gpu_device.h"
#include "recurrent/unrolled/lanes.h"
#include "training/profiling.h"

namespace rnnlab {
namespace {

std::string why_no_graphs(const Batches& batches) {
  if (batches.placement() != Placement::kDevice) return "the samples are not on the GPU (data.placement)";
  if (!batches.has_selections())
    return "the batches are made on the host, because the device is a CPU or sequences have varied lengths";
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

namespace {

int64_t num_whole_samples(const Selection& selection) {
  return std::accumulate(selection.whole_sizes.begin(), selection.whole_sizes.end(), int64_t{0});
}

// Splits a selection into turns of `batches_per_turn` batches; the last turn may have fewer.
std::vector<Selection> turns_in(const Selection& selection, int64_t batches_per_turn) {
  std::vector<Selection> turns;
  int64_t first_sample = 0;
  for (int64_t begin = 0; begin < std::ssize(selection.sizes); begin += batches_per_turn) {
    const int64_t end = std::min(begin + batches_per_turn, std::ssize(selection.sizes));
    Selection turn{{},
                   {selection.sizes.begin() + begin, selection.sizes.begin() + end},
                   {selection.whole_sizes.begin() + begin, selection.whole_sizes.begin() + end}};
    const int64_t size = std::accumulate(turn.sizes.begin(), turn.sizes.end(), int64_t{0});
    turn.samples = selection.samples.narrow(0, first_sample, size);
    first_sample += size;
    turns.push_back(std::move(turn));
  }
  return turns;
}

std::vector<int64_t> num_samples_of(const std::vector<Selection>& turns) {
  std::vector<int64_t> counts;
  for (const Selection& turn : turns) counts.push_back(num_whole_samples(turn));
  return counts;
}

}  // namespace

struct BatchLoop::Graph {
  Selection selection;  // the captured work reads it at this address
  std::unique_ptr<CapturedWork> work;
  Turns result;
};

BatchLoop::BatchLoop(Batches& batches, int64_t batches_per_turn, Work work, Replay replay, Agree agree)
    : batches_(batches),
      batches_per_turn_(batches_per_turn),
      work_(std::move(work)),
      agree_(std::move(agree)),
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
  // A turn needs all of its batches at once, because the weight of each batch may depend on the size of all.
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

std::vector<Batch> BatchLoop::gather(const Selection& turn) const {
  const TraceRange range("batch");
  std::vector<Batch> batches;
  const std::vector<at::Tensor> samples = turn.samples.split_with_sizes(turn.sizes);
  for (size_t i = 0; i < samples.size(); ++i) batches.push_back(batches_.gather(samples[i], turn.whole_sizes[i]));
  return batches;
}

BatchLoop::Turns BatchLoop::run(const Selection& selection, int64_t count) {
  const int64_t num_samples = num_whole_samples(selection) / count;
  Graph* const graph = refusal_.empty() && is_warm(num_samples) ? captured(selection, count) : nullptr;
  if (graph == nullptr) {
    eager_turns_ += count;
    eager_sizes_.insert(num_samples);
    return run_eager(selection, count);
  }
  const TraceRange range("graph replay");
  graph->selection.samples.copy_(selection.samples);
  graph->work->replay();
  return graph->result;
}

BatchLoop::Turns BatchLoop::run_eager(const Selection& selection, int64_t count) const {
  const std::vector<Selection> turns = turns_in(selection, batches_per_turn_);
  RNNLAB_INVARIANT(std::ssize(turns) == count, "a selection of another number of turns");
  std::vector<EvaluatedStep> steps;
  for (const Selection& turn : turns) steps.push_back(work_(gather(turn), std::ssize(steps)));
  return turns_of(steps, num_samples_of(turns));
}

// Runs full turns. Every batch but the first is gathered on a stream of its own while the turn before it runs.
BatchLoop::Turns BatchLoop::run_overlapped(const Selection& selection) const {
  constexpr size_t kMainLane = 0;
  constexpr size_t kGatherLane = 3;  // a side stream; if a pass uses it too, their work runs in turn
  StreamSet lanes(selection.samples.device(), kGatherLane);
  const std::vector<Selection> turns = turns_in(selection, batches_per_turn_);
  std::vector<std::vector<Batch>> batches = {gather(turns.front())};  // kept, so that no stream reuses the memory
  std::vector<EvaluatedStep> steps;
  for (size_t i = 0; i < turns.size(); ++i) {
    lanes.order(kMainLane, kGatherLane);
    if (i + 1 < turns.size()) lanes.run(kGatherLane, [&] { batches.push_back(gather(turns[i + 1])); });
    steps.push_back(work_(batches[i], static_cast<int64_t>(i)));
    lanes.order(kGatherLane, kMainLane);
  }
  lanes.join();
  return turns_of(steps, num_samples_of(turns));
}

BatchLoop::Graph* BatchLoop::captured(const Selection& selection, int64_t count) {
  auto& graph = graphs_[num_whole_samples(selection)];
  if (!graph) graph = std::make_unique<Graph>();
  if (!graph->work) capture(*graph, selection, count);
  return graph->work ? graph.get() : nullptr;
}

void BatchLoop::capture(Graph& graph, const Selection& selection, int64_t count) {
  const TraceRange range("graph capture");
  graph.selection = selection;
  graph.selection.samples = selection.samples.clone();
  auto work = make_captured_work(selection.samples.device());
  std::string failure;
  try {
    work->capture_warm(
        [&] { graph.result = count == 1 ? run_eager(graph.selection, 1) : run_overlapped(graph.selection); });
  } catch (const UserError& error) {
    failure = error.what();
  }
  if (agree_ && !agree_(failure.empty()) && failure.empty()) failure = "another process of the run cannot capture it";
  if (failure.empty())
    graph.work = std::move(work);
  else if (count > 1)
    joins_turns_ = false;  // the memory may suffice for a graph of one turn
  else
    refusal_ = failure;
}

std::optional<c10::Stream> graph_stream(c10::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  return stream_from_pool(device, kHighPriority);
}

}  // namespace rnnlab
