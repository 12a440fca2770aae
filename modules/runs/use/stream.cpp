// SPDX-License-Identifier: Apache-2.0
#include "runs/use/stream.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/checkpoint/safetensors.h"
#include "runs/use/predict.h"
#include "runs/use/prediction_files.h"
#include "train/loop/train_step.h"

namespace rnnlab {
namespace {

// The settings that may change when a model is used, and mean something for rows that arrive.
constexpr std::array<std::string_view, 17> kStreamKeys = {
    "device",        "layer",           "cudnn_algorithm", "precision",      "deterministic",       "data.delimiter",
    "data.decimal",  "data.header",     "data.id",         "data.missing",   "data.missing_words",  "data.time",
    "data.unsorted", "data.duplicates", "data.gaps",       "data.frequency", "training.num_threads"};

std::string why_not_streamed(const TrainedModel& trained) {
  const ModelSettings& model = trained.experiment.model;
  if (trained.data.shape.task == Task::kLanguageModel)
    return "a language model continues a text; use --prompt TEXT, and --state FILE with it";
  const auto why_not = info_of(model.kind).why_not_continued;
  if (why_not == nullptr) return fmt::format("model.kind: {} has no state", config::name_of(model.kind));
  std::string reason = why_not(model, trained.data.shape);
  return reason.empty() ? why_not_streamed(trained.experiment.data, trained.data) : reason;
}

const TrainedModel& required(const TrainedModel& trained) {
  const std::string reason = why_not_streamed(trained);
  if (!reason.empty()) throw_error(ExitCode::kUsage, "--stream: {}", reason);
  return trained;
}

bool is_blank(std::string_view line) { return line.find_first_not_of("\r\n") == std::string_view::npos; }

}  // namespace

void require_stream_settings(const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) {
    const std::string key = assignment.substr(0, assignment.find('='));
    if (std::ranges::count(kStreamKeys, key) > 0) continue;
    throw_error(ExitCode::kUsage, "argument {}: {} has no effect on rows that arrive; remove it{}",
                in_quotes(assignment), key, key == "data.path" ? ", and give the file as standard input: < FILE" : "");
  }
}

Stream::Stream(const TrainedModel& trained, StreamState state, StreamForm form, std::string source)
    : trained_(required(trained)),
      reader_(trained.experiment.data, trained.data, source),
      ends_(reader_.options().delimiter),
      state_(std::move(state)),
      form_(form),
      source_(std::move(source)) {
  for (const auto& [name, one] : state_.series)
    if (one.past.values.size() != reader_.num_values())
      throw_checkpoint_error(
          "the state of the series {} has {}, but a row of the model has {}: begin again with a new file",
          in_quotes(name), counted(std::ssize(one.past.values), "value"), reader_.num_values());
}

void Stream::read_line(const std::string& line, int64_t number, const std::function<void(std::string_view)>& print) {
  if (open_text_.empty()) open_line_ = number;
  open_text_ += line + "\n";
  if (open_text_.size() > kLongestStreamRow)
    throw_error(ExitCode::kData, "{}:{}: the row has more than {}: is a quote opened here and never closed?", source_,
                open_line_, format_bytes(static_cast<int64_t>(kLongestStreamRow)));
  if (!ends_.ends_with(line)) return;
  const std::string text = std::exchange(open_text_, "");
  const bool needs_names = reader_.has_header() && !has_names_;
  if (is_blank(text) && (needs_names || !reader_.has_one_column())) return;
  if (is_blank(text))
    throw_error(ExitCode::kData,
                "{}:{}: the line is blank, which may be a missing value: write the value, or a word "
                "that means a missing one, such as NA",
                source_, open_line_);
  if (needs_names) {
    reader_.set_header(text, open_line_);
    has_names_ = true;
    return;
  }
  read_row(text, open_line_, print);
}

void Stream::read_row(const std::string& text, int64_t number, const std::function<void(std::string_view)>& print) {
  const at::NoGradGuard no_grad;
  StreamRow row = reader_.read(text, number);
  const auto found = state_.series.find(row.series);
  const SeriesState before = found == state_.series.end() ? SeriesState() : found->second;
  StreamStep step = reader_.step(row, before.past);
  note(step.notes);
  const AutocastGuard autocast(trained_.experiment.precision, trained_.device);
  const at::Tensor input = step.samples.inputs.transpose(0, 1).to(trained_.device);
  const Continuation next = trained_.model->continue_from(step.begins_anew ? RecurrentState() : before.state, input);
  ++num_rows_;
  print(text_of(row, step.samples, next.outputs));
  is_begun_ = true;
  state_.series[row.series] = {own_copy(next.state), std::move(step.past), before.num_steps + 1};
}

std::string Stream::text_of(const StreamRow& row, const Samples& samples, const at::Tensor& outputs) {
  const at::Tensor raw = outputs.reshape({1, -1}).to(at::kCPU, at::kFloat).contiguous();
  const Predictions predictions = predictions_of(trained_, raw, samples);
  const FileRows rows{.id_names = reader_.id_names(),
                      .rows = {{.number = num_rows_, .id = row.id, .sample = 0, .reason = ""}}};
  if (form_ == StreamForm::kJsonl) return streamed_json(predictions, rows);
  return (is_begun_ ? "" : streamed_names(predictions, rows)) + streamed_csv(predictions, rows);
}

void Stream::end() const {
  if (!open_text_.empty()) throw_error(ExitCode::kData, "{}:{}: the row ends within quotes", source_, open_line_);
  if (reader_.has_header() && !has_names_)
    throw_error(ExitCode::kData, "{}: is empty, expected the names of the columns in the first line", source_);
}

void Stream::note(const std::vector<std::string>& notes) {
  for (const std::string& one : notes)
    if (std::ranges::count(taken_notes_, one) == 0) add_once(notes_, one);
}

std::vector<std::string> Stream::take_notes() {
  taken_notes_.insert(taken_notes_.end(), notes_.begin(), notes_.end());
  if (std::ssize(taken_notes_) > kMostNotesKept)
    taken_notes_.erase(taken_notes_.begin(), taken_notes_.end() - kMostNotesKept);
  return std::exchange(notes_, {});
}

}  // namespace rnnlab
