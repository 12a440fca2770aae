// SPDX-License-Identifier: Apache-2.0
#include "train/loop/batch_loop.h"

#include <ATen/ops/stack.h>

#include <numeric>

#include "base/error.h"
#include "layers/device/gpu_device.h"
#include "layers/unrolled/stream_set.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

std::string why_no_graphs(const Batches& batches) {
  if (batches.placement() != Placement::kDevice) return "the samples are not on the GPU (data.placement)";
  if (!batches.has_selections())
    return "the batches are made on the host, because the device is a CPU, sequences have varied lengths, or targets "
           "are missing";
  return "";
}

BatchLoop::StepResults results_of(const std::vector<EvaluatedStep>& steps, const std::vector<int64_t>& num_samples) {
  BatchLoop::StepResults results = {{}, {}, num_samples};
  std::vector<at::Tensor> rows;
  for (const EvaluatedStep& step : steps) {
    rows.push_back(step.row);
    results.counts.push_back(step.count);
  }
  results.rows = rows.size() == 1 ? rows.front().unsqueeze(0) : at::stack(rows);
  return results;
}

int64_t num_whole_samples(const Selection& selection) {
  return std::accumulate(selection.whole_sizes.begin(), selection.whole_sizes.end(), int64_t{0});
}

// Splits a selection into steps of `batches_per_step` batches; the last step may have fewer.
std::vector<Selection> split_steps(const Selection& selection, int64_t batches_per_step) {
  std::vector<Selection> steps;
  int64_t first_sample = 0;
  for (int64_t begin = 0; begin < std::ssize(selection.sizes); begin += batches_per_step) {
    const int64_t end = std::min(begin + batches_per_step, std::ssize(selection.sizes));
    Selection step{{},
                   {selection.sizes.begin() + begin, selection.sizes.begin() + end},
                   {selection.whole_sizes.begin() + begin, selection.whole_sizes.begin() + end}};
    const int64_t size = std::accumulate(step.sizes.begin(), step.sizes.end(), int64_t{0});
    step.samples = selection.samples.narrow(0, first_sample, size);
    first_sample += size;
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<int64_t> num_samples_of(const std::vector<Selection>& steps) {
  std::vector<int64_t> counts;
  for (const Selection& step : steps) counts.push_back(num_whole_samples(step));
  return counts;
}

}  // namespace

struct BatchLoop::Graph {
  Selection selection;  // the captured work reads it at this address
  std::unique_ptr<CapturedWork> work;
  StepResults result;
};

BatchLoop::BatchLoop(Batches& batches, int64_t batches_per_step, Work work, Replay replay, Agree agree)
    : batches_(batches),
      batches_per_step_(batches_per_step),
      work_(std::move(work)),
      agree_(std::move(agree)),
      replays_(replay == Replay::kGraphs && why_no_graphs(batches).empty()),
      fallback_reason_(replay == Replay::kGraphs ? why_no_graphs(batches) : "") {}

BatchLoop::~BatchLoop() = default;

int64_t BatchLoop::steps_per_launch(int64_t most) const {
  const bool can_join = replays_ && fallback_reason_.empty() && can_join_steps_ && is_warm(samples_per_step());
  const bool are_there = batches_.full_batches_left() >= kStepsPerGraph * batches_per_step_;
  return can_join && are_there && most >= kStepsPerGraph ? kStepsPerGraph : 1;
}

std::optional<BatchLoop::StepResults> BatchLoop::next(int64_t count) {
  if (!replays_) return next_eager();
  const auto selection = batches_.next_selection(count * batches_per_step_);
  if (!selection) return std::nullopt;
  return run(*selection, count);
}

bool BatchLoop::is_warm(int64_t num_samples) const {
  return num_eager_steps_ >= CapturedWork::kWarmupRuns && eager_sizes_.contains(num_samples);
}

std::optional<Batch> BatchLoop::next_batch() {
  const TraceRange range("batch");
  return batches_.next();
}

std::optional<BatchLoop::StepResults> BatchLoop::next_eager() {
  // A step needs all of its batches at once, because the weight of each batch may depend on the size of all.
  std::vector<Batch> step;
  int64_t num_samples = 0;
  while (std::ssize(step) < batches_per_step_) {
    auto batch = next_batch();
    if (!batch) break;
    num_samples += batch->whole_size;
    step.push_back(std::move(*batch));
  }
  if (step.empty()) return std::nullopt;
  return results_of({work_(step, 0)}, {num_samples});
}

std::vector<Batch> BatchLoop::gather(const Selection& step) const {
  const TraceRange range("batch");
  std::vector<Batch> batches;
  const std::vector<at::Tensor> samples = step.samples.split_with_sizes(step.sizes);
  for (size_t i = 0; i < samples.size(); ++i) batches.push_back(batches_.gather(samples[i], step.whole_sizes[i]));
  return batches;
}

BatchLoop::StepResults BatchLoop::run(const Selection& selection, int64_t count) {
  const int64_t num_samples = num_whole_samples(selection) / count;
  Graph* const graph = fallback_reason_.empty() && is_warm(num_samples) ? captured(selection, count) : nullptr;
  if (graph == nullptr) {
    num_eager_steps_ += count;
    eager_sizes_.insert(num_samples);
    return run_eager(selection, count);
  }
  const TraceRange range("graph replay");
  graph->selection.samples.copy_(selection.samples);
  graph->work->replay();
  return graph->result;
}

BatchLoop::StepResults BatchLoop::run_eager(const Selection& selection, int64_t count) const {
  const std::vector<Selection> selections = split_steps(selection, batches_per_step_);
  RNNLAB_INVARIANT(std::ssize(selections) == count, "the selection must hold the number of steps that are launched");
  std::vector<EvaluatedStep> steps;
  for (const Selection& one : selections) steps.push_back(work_(gather(one), std::ssize(steps)));
  return results_of(steps, num_samples_of(selections));
}

// Runs full steps. Every batch but the first is gathered on a stream of its own while the step before it runs.
BatchLoop::StepResults BatchLoop::run_overlapped(const Selection& selection) const {
  constexpr size_t kMainStream = 0;
  constexpr size_t kGatherStream = 3;  // a side stream; if a pass uses it too, their work runs one after the other
  StreamSet streams(selection.samples.device(), kGatherStream);
  const std::vector<Selection> selections = split_steps(selection, batches_per_step_);
  std::vector<std::vector<Batch>> batches = {gather(selections.front())};  // kept, so that no stream reuses the memory
  std::vector<EvaluatedStep> steps;
  for (size_t i = 0; i < selections.size(); ++i) {
    streams.order(kMainStream, kGatherStream);
    if (i + 1 < selections.size()) streams.run(kGatherStream, [&] { batches.push_back(gather(selections[i + 1])); });
    steps.push_back(work_(batches[i], static_cast<int64_t>(i)));
    streams.order(kGatherStream, kMainStream);
  }
  streams.join();
  return results_of(steps, num_samples_of(selections));
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
    work->capture_without_warmup(
        [&] { graph.result = count == 1 ? run_eager(graph.selection, 1) : run_overlapped(graph.selection); });
  } catch (const UserError& error) {
    failure = error.what();
  }
  if (agree_ && !agree_(failure.empty()) && failure.empty()) failure = "another process of the run cannot capture it";
  if (failure.empty())
    graph.work = std::move(work);
  else if (count > 1)
    can_join_steps_ = false;  // the memory may suffice for a graph of one step
  else
    fallback_reason_ = failure;
}

std::optional<c10::Stream> graph_stream(c10::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  return stream_from_pool(device, kHighPriority);
}

}  // namespace rnnlab
