#include "training/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <iterator>

#include "training/profiling.h"
#include "training/step_record.h"

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

void append(std::vector<StepRow> rows, std::vector<StepRow>& all) {
  all.insert(all.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

constexpr int64_t kNumColumns = 4;

at::Tensor table_of(const std::vector<StepRow>& rows, int64_t num_rows) {
  at::Tensor table = at::zeros({num_rows, kNumColumns}, at::kDouble);
  double* cell = table.mutable_data_ptr<double>();
  for (const StepRow& row : rows)
    for (const double value : {row.loss, row.weighted_loss, row.metric_sum, static_cast<double>(row.count)})
      *cell++ = value;
  return table;
}

StepRow row_of(const at::Tensor& table) {
  const double* cells = table.const_data_ptr<double>();
  return {.loss = cells[0], .weighted_loss = cells[1], .metric_sum = cells[2], .count = static_cast<int64_t>(cells[3])};
}

// Gathers the rows of all ranks; rank r has the rows of batches r, r + size, r + 2 size and so on. The result is in the
// order of the batches, and is the same on every rank and in one process.
std::vector<StepRow> rows_of_all(Ranks& ranks, const std::vector<StepRow>& own, int64_t num_batches) {
  const int64_t most = (num_batches + ranks.size() - 1) / ranks.size();
  const at::Tensor tables = ranks.gather(table_of(own, most));
  std::vector<StepRow> all;
  for (int64_t i = 0; i < num_batches; ++i) all.push_back(row_of(tables[i % ranks.size()][i / ranks.size()]));
  return all;
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

Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device, Ranks* ranks) {
  const EvaluationMode evaluation_mode(model);
  std::vector<StepRow> rows;
  StepRecord record(/*num_gradient_norms=*/0, device);
  batches.start_epoch(0);
  while (const auto turn = loop.next()) {
    if (record.full()) append(record.take(), rows);
    record.append(turn->rows, turn->counts);
  }
  append(record.take(), rows);
  if (ranks != nullptr) rows = rows_of_all(*ranks, rows, batches.whole_batches_per_epoch());
  Totals totals;
  for (const StepRow& row : rows) totals.add(row);
  return totals;
}

}  // namespace rnnlab
