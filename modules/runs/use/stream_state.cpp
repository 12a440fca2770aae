// SPDX-License-Identifier: Apache-2.0
#include "runs/use/stream_state.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "data/readers/time_units.h"
#include "data/readers/times.h"
#include "layers/cells/cell.h"
#include "results/checkpoint/safetensors.h"
#include "train/models/model.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

constexpr std::string_view kKind = "the state of a stream";
constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

constexpr const char* kSteps = "series.num_steps";  // (S) int64
constexpr const char* kValues = "series.values";    // (S, V) float64
constexpr const char* kTimes = "series.times";      // (S, T) int64, the last ones kNoTime
constexpr const char* kTokens = "text.tokens";      // (N) int64

const RecurrentOptions& options_of(const TrainedModel& trained) {
  const Model& model = *trained.model;
  return model.recurrent().options();
}

// With a number, because equations may call a state as another one is called in files.
std::vector<std::string> names_of_states(const TrainedModel& trained) {
  std::vector<std::string> names;
  for (const std::string_view name : info_of(options_of(trained).cell).states)
    names.push_back(fmt::format("state{}.{}", names.size(), name));
  return names;
}

std::vector<at::Tensor> tensors_in(const RecurrentState& state) {
  std::vector<at::Tensor> tensors = {state.hidden};
  tensors.insert(tensors.end(), state.inner.begin(), state.inner.end());
  return tensors;
}

// Rows of numbers that are padded to the length of the longest one.
template <class T>
at::Tensor matrix_of(const std::vector<std::vector<T>>& rows, T padding, at::ScalarType type) {
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.size());
  at::Tensor matrix = at::full({std::ssize(rows), static_cast<int64_t>(width)}, padding, type);
  T* to = matrix.mutable_data_ptr<T>();
  for (const auto& row : rows) {
    std::ranges::copy(row, to);
    to += width;
  }
  return matrix;
}

template <class T>
std::vector<T> row_of(const at::Tensor& matrix, int64_t row) {
  const T* first = matrix.const_data_ptr<T>() + row * matrix.size(1);
  return {first, first + matrix.size(1)};
}

// Each state of the cell is (L, S, H), as in PyTorch.
std::vector<NamedTensor> tensors_of(const StreamState& state, const TrainedModel& trained) {
  const std::vector<std::string> names = names_of_states(trained);
  const RecurrentOptions& options = options_of(trained);
  const at::Tensor none = at::empty({options.num_layers, 0, options.hidden_size});
  std::vector<std::vector<at::Tensor>> states(names.size(), {none});
  std::vector<std::vector<double>> values;
  std::vector<std::vector<int64_t>> times;
  std::vector<int64_t> num_steps;
  for (const auto& [name, one] : state.series) {
    const std::vector<at::Tensor> own = tensors_in(one.state);
    for (size_t i = 0; i < names.size(); ++i) states[i].push_back(own[i].to(at::kCPU, at::kFloat));
    values.push_back(one.past.values);
    times.push_back(one.past.times);
    num_steps.push_back(one.num_steps);
  }
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names.size(); ++i) tensors.push_back({names[i], at::cat(states[i], 1).contiguous()});
  tensors.push_back({kSteps, at::tensor(num_steps, at::kLong)});
  tensors.push_back({kValues, matrix_of(values, std::numeric_limits<double>::quiet_NaN(), at::kDouble)});
  tensors.push_back({kTimes, matrix_of(times, kNoTime, at::kLong)});
  tensors.push_back({kTokens, at::tensor(state.tokens, at::kLong)});
  return tensors;
}

std::string series_text(const StreamState& state) {
  Json names = Json::array();
  for (const auto& [name, one] : state.series) names.push_back(name);
  return names.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns the digest of the tensors, whatever their order, and of the metadata without the digest itself.
std::string digest_of(std::vector<TensorView> tensors, const TensorMetadata& metadata) {
  std::ranges::sort(tensors, {}, [](const TensorView& view) { return view.spec.name; });
  Sha256 digest;
  for (const auto& [key, value] : metadata)
    if (key != "sha256") digest.update(fmt::format("{} {}\n", key, value));
  for (const TensorView& view : tensors) {
    digest.update(fmt::format("{} {}\n", view.spec.name, shape_text(view.spec)));
    digest.update(view.bytes);
  }
  return digest.hex();
}

std::string entry_of(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

void require_state_of(const TensorFile& file, const TrainedModel& trained) {
  if (entry_of(file, "kind") != kKind)
    throw_checkpoint_error("{}: this is not the state of a stream: name a file that --state wrote, or a new one",
                           file.name);
  if (entry_of(file, "schema_version") != std::to_string(kFileVersion))
    throw_checkpoint_error("{}: has version {}, and this rnnlab reads version {}: use the rnnlab that wrote it",
                           file.name, entry_of(file, "schema_version"), kFileVersion);
  if (entry_of(file, "sha256") != digest_of(file.tensors, file.metadata))
    throw_checkpoint_error(
        "{}: is damaged: its content has another SHA-256 than the file says; begin again with a new "
        "file",
        file.name);
  const std::string wanted = weights_sha256(*trained.model), found = entry_of(file, "weights_sha256");
  if (found != wanted)
    throw_checkpoint_error(
        "{}: is the state of other weights ({:.12}) than those of {} ({:.12}): use the run and the "
        "checkpoint that wrote it, or a new file",
        file.name, found, trained.checkpoint.string(), wanted);
}

std::vector<std::string> series_in(const TensorFile& file) {
  std::vector<std::string> names;
  const Json list = Json::parse(entry_of(file, "series"), nullptr, false);
  if (!list.is_array()) throw_checkpoint_error("{}: has no list of its series", file.name);
  std::set<std::string> seen;
  for (const Json& name : list) {
    if (!name.is_string() || !seen.insert(name).second)
      throw_checkpoint_error("{}: {} is the name of two series, or not a name: begin again with a new file", file.name,
                             name.dump());
    names.push_back(name);
  }
  return names;
}

// The digest has proven that rnnlab wrote the file, and the weights that its model has these shapes; both can be
// forged.
void require_shapes(const TensorFile& file, int64_t num_series, const TrainedModel& trained) {
  const RecurrentOptions& options = options_of(trained);
  const auto size_of = [&](const char* name, size_t dimension) {
    const TensorView* view = file.find(name);
    return view == nullptr || view->spec.shape.size() <= dimension ? 0 : view->spec.shape[dimension];
  };
  std::vector<TensorSpec> specs = {{kSteps, DType::kI64, {num_series}},
                                   {kValues, DType::kF64, {num_series, size_of(kValues, 1)}},
                                   {kTimes, DType::kI64, {num_series, size_of(kTimes, 1)}},
                                   {kTokens, DType::kI64, {size_of(kTokens, 0)}}};
  for (const std::string& name : names_of_states(trained))
    specs.push_back({name, DType::kF32, {options.num_layers, num_series, options.hidden_size}});
  require_tensors(file, specs);
}

// Rows lead to none of these; sums and differences of what is accepted do not overflow.
void require_countable(const TensorFile& file, const StreamState& state) {
  constexpr int64_t kMostSteps = int64_t{1} << 53;
  const int64_t first = *parse_time("0001-01-01") - 2 * kDay, last = *parse_time("9999-12-31") + 2 * kDay;
  int64_t steps_left = kMostSteps;
  for (const auto& [name, one] : state.series) {
    if (one.num_steps < 0 || one.num_steps > steps_left)
      throw_checkpoint_error("{}: the series {} has {} steps, expected 0 to {} in all: begin again with a new file",
                             file.name, in_quotes(name), one.num_steps, kMostSteps);
    steps_left -= one.num_steps;
    for (const int64_t time : one.past.times)
      if (time < first || time > last)
        throw_checkpoint_error(
            "{}: the series {} has the time {}, expected microseconds in the years 1 to 9999: begin again with a new "
            "file",
            file.name, in_quotes(name), time);
  }
}

}  // namespace

RecurrentState own_copy(const RecurrentState& state) {
  RecurrentState copy(state.hidden.clone());
  for (const at::Tensor& one : state.inner) copy.inner.push_back(one.clone());
  return copy;
}

void write_stream_state(const std::filesystem::path& file, const StreamState& state, const TrainedModel& trained) {
  if (state.series.empty() && state.tokens.empty()) return;
  const std::vector<NamedTensor> tensors = tensors_of(state, trained);
  const std::vector<TensorView> views = views_of(tensors);
  TensorMetadata metadata = {{"kind", std::string(kKind)},
                             {"schema_version", std::to_string(kFileVersion)},
                             {"weights_sha256", weights_sha256(*trained.model)},
                             {"series", series_text(state)}};
  metadata["sha256"] = digest_of(views, metadata);
  write_safetensors(file, SafetensorsImage(views, metadata));
}

StreamState read_stream_state(const std::filesystem::path& file, const TrainedModel& trained) {
  const TensorFile content = read_safetensors(file);
  require_state_of(content, trained);
  const std::vector<std::string> names = series_in(content);
  require_shapes(content, std::ssize(names), trained);
  const auto tensor = [&](const std::string& name) { return to_tensor(*content.find(name)).tensor; };
  const at::Tensor values = tensor(kValues), times = tensor(kTimes), num_steps = tensor(kSteps);
  StreamState state;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    SeriesState& one = state.series[names[i]];
    one.num_steps = num_steps[row].item<int64_t>();
    one.past = {row_of<double>(values, row), row_of<int64_t>(times, row)};
    std::erase(one.past.times, kNoTime);
    std::vector<at::Tensor> states;
    for (const std::string& name : names_of_states(trained))
      states.push_back(tensor(name).narrow(1, row, 1).contiguous().to(trained.device));
    one.state.hidden = states.front();
    one.state.inner.assign(states.begin() + 1, states.end());
  }
  require_countable(content, state);
  state.tokens = row_of<int64_t>(tensor(kTokens).unsqueeze(0), 0);
  const auto is_wrong = [&](int64_t token) { return token < 0 || token >= trained.data.shape.num_outputs; };
  if (std::ranges::any_of(state.tokens, is_wrong))
    throw_checkpoint_error("{}: has a token that is not in the vocabulary of the model", content.name);
  return state;
}

StreamState stream_state_in(const std::filesystem::path& file, const TrainedModel& trained) {
  return path_exists(file) ? read_stream_state(file, trained) : StreamState();
}

}  // namespace rnnlab
