#include "training/evaluate.h"

#include <ATen/core/grad_mode.h>

#include "training/step_record.h"
#include "training/trace_range.h"

namespace rnnlab {
namespace {

class EvaluationMode {
 public:
  explicit EvaluationMode(Model& model) : model_(model), was_training_(model.is_training()) { model_.eval(); }
  ~EvaluationMode() { model_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  Model& model_;
  bool was_training_;
};

void add(std::vector<StepRow> rows, Totals& totals) {
  for (const auto& row : rows) totals.add(row);
}

}  // namespace

BatchLoop::Work evaluation_work(Model& model, const Objective& objective, Precision precision) {
  return [&model, &objective, precision](std::span<const Batch> batches, int64_t /*place*/) {
    const TraceRange range("forward");
    const Batch& batch = batches.front();
    const at::NoGradGuard no_grad;
    const AutocastGuard autocast(precision, batch.inputs.device());
    return evaluated_step(objective.evaluate(model.forward(batch), batch.targets));
  };
}

Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device) {
  const EvaluationMode evaluation_mode(model);
  Totals totals;
  StepRecord record(/*num_gradient_norms=*/0, device);
  batches.start_epoch(0);
  while (const auto turn = loop.next()) {
    if (record.full()) add(record.take(), totals);
    record.append(turn->rows, turn->counts);
  }
  add(record.take(), totals);
  return totals;
}

}  // namespace rnnlab
