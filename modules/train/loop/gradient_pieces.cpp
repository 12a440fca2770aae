// SPDX-License-Identifier: Apache-2.0
#include "train/loop/gradient_pieces.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/StreamGuard.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>

#include "base/error.h"
#include "layers/device/gpu_device.h"
#include "layers/device/run_kernels.h"
#include "train/loop/device_rates.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

constexpr int64_t kLeastOfLayer = (int64_t{512} << 10) / 4;
constexpr int64_t kMostOfLayer = (int64_t{4} << 20) / 4;

int64_t aligned(int64_t size) {
  return (size + MessageLayout::kAlignment - 1) / MessageLayout::kAlignment * MessageLayout::kAlignment;
}

std::string module_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

bool is_table(const NamedTensor& parameter) { return module_of(parameter.name).ends_with("embedding"); }

// Returns a name that all parameters of a layer share: "recurrent.weight_hh_l1" and "recurrent.bias_ih_l1" are of
// "recurrent.l1". The table of an embedding is written together with the first layer, which reads it.
std::string layer_of(const NamedTensor& parameter) {
  const std::string& name = parameter.name;
  if (is_table(parameter)) return "recurrent.l0";
  const size_t layer = name.rfind("_l");
  if (layer == std::string::npos) return module_of(name);
  return module_of(name) + "." + name.substr(layer + 1, name.find('_', layer + 1) - layer - 1);
}

// Returns the numbers of the parameters in the order in which a backward pass writes their gradients.
std::vector<size_t> in_order_of_writing(const std::vector<NamedTensor>& parameters) {
  std::vector<size_t> numbers(parameters.size());
  std::iota(numbers.rbegin(), numbers.rend(), size_t{0});
  std::ranges::stable_partition(numbers, [&](size_t number) { return !is_table(parameters[number]); });
  return numbers;
}

class Layout {
 public:
  Layout(const std::vector<NamedTensor>& parameters, const std::optional<int64_t>& least_bytes)
      : parameters_(parameters), order_(in_order_of_writing(parameters)), least_bytes_(least_bytes) {
    layout_.places.resize(parameters.size());
    layout_.piece_sizes.push_back(0);
  }

  MessageLayout make(int64_t tail, Pieces pieces) && {
    for (size_t i = 0; i < order_.size(); ++i) {
      int64_t& size = layout_.piece_sizes.back();
      layout_.places[order_[i]] = {layout_.piece_sizes.size() - 1, size};
      size += aligned(at(i).tensor.numel());
      if (pieces != Pieces::kOne && i + 1 < order_.size() && ends_after(i, pieces)) layout_.piece_sizes.push_back(0);
    }
    layout_.tail_offset = layout_.piece_sizes.front();
    layout_.piece_sizes.front() += aligned(tail);
    return std::move(layout_);
  }

 private:
  const NamedTensor& at(size_t place_in_order) const { return parameters_[order_[place_in_order]]; }

  bool ends_after(size_t i, Pieces pieces) const {
    const int64_t size = layout_.piece_sizes.back();
    if (least_bytes_) return 4 * size >= *least_bytes_;
    const int64_t rest = rest_of_layer(i);
    if (rest == 0) return size >= kLeastOfLayer;
    const bool may_be_cut = pieces == Pieces::kSeveralOfEachLayer || !is_of_only_layer(i);
    return may_be_cut && size >= kMostOfLayer && rest >= kLeastOfLayer;
  }

  // While the products of a network's only layer fill the GPU, no kernel can send a piece.
  bool is_of_only_layer(size_t i) const {
    const std::string last = layer_of(at(order_.size() - 1));
    return layout_.piece_sizes.size() == 1 && layer_of(at(i)) == last;
  }

  // Returns the size of the parameters of the same layer that come after this one in the message.
  int64_t rest_of_layer(size_t i) const {
    const std::string layer = layer_of(at(i));
    int64_t size = 0;
    for (++i; i < order_.size() && layer_of(at(i)) == layer; ++i) size += at(i).tensor.numel();
    return size;
  }

  const std::vector<NamedTensor>& parameters_;
  std::vector<size_t> order_;
  const std::optional<int64_t>& least_bytes_;
  MessageLayout layout_;
};

// If the sizes differ, so do the collective operations that register memory for messages.
void require_same_sizes(Ranks& ranks, const std::vector<int64_t>& sizes) {
  const std::vector<std::string> all = ranks.all_gather_texts(fmt::format("{}", fmt::join(sizes, " + ")));
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i] != all[0])
      throw_error(
          ExitCode::kUsage,
          "the gradients of the processes of this run differ in size: {} numbers on rank 0, {} on rank {}; give "
          "all of them the same settings and data",
          all[0], all[i], i);
}

std::vector<at::Tensor> zeros_like_all(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) zeros.push_back(at::zeros_like(tensor));
  return zeros;
}

class AccumulatedHook : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit AccumulatedHook(std::function<void()> call) : call_(std::move(call)) {}
  void operator()(const at::Tensor&) override { call_(); }

 private:
  std::function<void()> call_;
};

}  // namespace

MessageLayout layout_of(const std::vector<NamedTensor>& parameters, int64_t tail, Pieces pieces,
                        const std::optional<int64_t>& least_bytes) {
  return Layout(parameters, least_bytes).make(tail, pieces);
}

void append_copy(const at::Tensor& parameter, const at::Tensor& place, GradientCopies& copies) {
  if (parameter.grad().defined())
    copies.emplace_back(parameter.grad(), place);
  else
    place.zero_();
}

at::Tensor place_in(const at::Tensor& piece, int64_t offset, const at::Tensor& parameter) {
  const at::Tensor part = piece.narrow(0, offset, parameter.numel());
  if (parameter.is_non_overlapping_and_dense())
    return part.as_strided(parameter.sizes(), parameter.strides(), part.storage_offset());
  return part.view(parameter.sizes());
}

namespace {

// Returns the copies that own kernels can make, which copy memory; the others are made at once.
std::vector<kernels::CopiedTensor> memory_copies(const GradientCopies& copies) {
  std::vector<kernels::CopiedTensor> work;
  for (const auto& [from, to] : copies) {
    if (from.scalar_type() == at::kFloat && from.strides() == to.strides() && from.is_non_overlapping_and_dense())
      work.push_back({from.const_data_ptr<float>(), to.mutable_data_ptr<float>(), from.numel()});
    else
      to.copy_(from);
  }
  return work;
}

void write_tail(const MessageTail& tail, const at::Tensor& place) {
  const auto& [loss, weighted_loss, metric_sum, count] = tail.sums;
  place.narrow(0, 0, MessageTail::kNumSums).copy_(at::stack({loss.detach(), weighted_loss, metric_sum}));
  place.narrow(0, 0, MessageTail::kNumSums - 1).mul_(tail.factor);  // not of the metric
  const at::Tensor requests = place.narrow(0, MessageTail::kNumSums, tail.num_ranks);
  requests.zero_()[tail.rank].copy_(tail.request);
}

void copy_by_operators(const GradientCopies& copies) {
  if (copies.empty()) return;
  std::vector<at::Tensor> from, to;
  for (const auto& [source, place] : copies) {
    from.push_back(source);
    to.push_back(place);
  }
  at::_foreach_copy_(to, from);
}

}  // namespace

void fill_message(const GradientCopies& copies, const MessageTail* tail, const at::Tensor& place) {
  if (copies.empty() && tail == nullptr) return;
  const at::Tensor& destination = tail != nullptr ? place : copies.front().second;
  if (!can_use_own_kernels(destination)) {
    copy_by_operators(copies);
    if (tail != nullptr) write_tail(*tail, place);
    return;
  }
  const auto tensors = memory_copies(copies);
  kernels::FillMessage work = {.tensors = tensors};
  if (tail != nullptr) {
    work.tail = place.mutable_data_ptr<float>();
    work.loss = tail->sums.loss.const_data_ptr<float>();
    work.weighted_loss = tail->sums.weighted_loss.const_data_ptr<float>();
    work.metric_sum = tail->sums.metric_sum.const_data_ptr<float>();
    work.factor = static_cast<float>(tail->factor);
    work.request = tail->request.const_data_ptr<float>();
    work.rank = tail->rank;
    work.num_ranks = tail->num_ranks;
  }
  run_kernels(work, destination);
}

namespace {

void add_up_by_operators(const std::vector<at::Tensor>& sources, const at::Tensor& sum) {
  sum.copy_(sources.front());
  for (size_t rank = 1; rank < sources.size(); ++rank) sum.add_(sources[rank]);
}

}  // namespace

void add_up(const std::vector<at::Tensor>& sources, const at::Tensor& sum, std::span<const kernels::SummedPart> parts) {
  RNNLAB_INVARIANT(std::ssize(sources) <= kernels::kMostSummed, "a sum has no more sources than its kernel takes");
  if (!can_use_own_kernels(sum)) return add_up_by_operators(sources, sum);
  kernels::SumOfRanks work{.num_ranks = std::ssize(sources), .sum = sum.mutable_data_ptr<float>(), .parts = parts};
  for (size_t rank = 0; rank < sources.size(); ++rank) work.sources[rank] = sources[rank].const_data_ptr<float>();
  run_kernels(work, sum);
}

GradientPieces::GradientPieces(Ranks& ranks, std::vector<NamedTensor> parameters, int64_t tail, Pieces pieces,
                               const std::optional<int64_t>& least_bytes)
    : ranks_(ranks),
      parameters_(std::move(parameters)),
      layout_(layout_of(parameters_, tail, pieces, least_bytes)),
      states_(parameters_.size(), State::kMissing),
      num_missing_(layout_.piece_sizes.size()) {
  begin_step();
  const auto options = parameters_.front().tensor.options().dtype(at::kFloat).requires_grad(false);
  if (options.device().is_cuda()) require_same_sizes(ranks, layout_.piece_sizes);
  messages_ = ranks.message_memory(layout_.piece_sizes, options);
  if (ranks.gives_sources()) find_sources(ranks);
  sums_ = sources_.empty() ? messages_ : zeros_like_all(messages_);
  const bool has_side_work = num_pieces() > 1 || !sources_.empty();
  if (options.device().is_cuda() && has_side_work) stream_ = stream_from_pool(options.device(), kHighPriority);
  if (stream_ && !sources_.empty()) {
    copy_stream_ = stream_from_pool(options.device(), kHighPriority);
    sum_stream_ = stream_from_pool(options.device(), kLowestPriority);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    numbers_.emplace(parameters_[i].tensor.unsafeGetTensorImpl(), i);
    if (num_pieces() > 1) watch(i);
  }
}

GradientPieces::~GradientPieces() {
  for (const NamedTensor& parameter : parameters_)
    if (num_pieces() > 1) torch::autograd::impl::set_post_acc_grad_hooks(parameter.tensor, nullptr);
}

void GradientPieces::find_sources(Ranks& ranks) {
  for (const at::Tensor& message : messages_) sources_.push_back(ranks.sources_of(message));
  std::vector<kernels::NormTensor> gradients;
  for (const NamedTensor& parameter : parameters_) gradients.push_back({nullptr, parameter.tensor.numel()});
  if (can_use_own_kernels(messages_.front()))
    norm_parts_ = at::zeros({kernels::num_norm_parts(gradients)}, messages_.front().options());
  summed_parts_ = parts_of_sums();
}

// Partial sums have the order of the parameters.
std::vector<std::vector<kernels::SummedPart>> GradientPieces::parts_of_sums() const {
  std::vector<std::vector<kernels::SummedPart>> parts(num_pieces());
  float* next = norm_parts_.defined() ? norm_parts_.mutable_data_ptr<float>() : nullptr;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [piece, offset] = layout_.places[i];
    const int64_t size = parameters_[i].tensor.numel();
    parts[piece].push_back({.offset = offset, .size = size, .norm_parts = next});
    if (next != nullptr) next += kernels::num_blocks_for(size);
  }
  parts.front().push_back({.offset = layout_.tail_offset, .size = messages_.front().numel() - layout_.tail_offset});
  return parts;
}

void GradientPieces::watch(size_t parameter) {
  torch::autograd::impl::set_post_acc_grad_hooks(
      parameters_[parameter].tensor,
      std::make_unique<AccumulatedHook>([this, parameter] { on_accumulated(parameter); }));
}

void GradientPieces::begin_last_pass(bool is_only_pass) {
  is_last_pass_ = true;
  gives_places_ = is_only_pass;
}

void GradientPieces::begin_step() {
  is_forked_ = is_fetching_ = false;
  forget_gradients();
}

void GradientPieces::forget_gradients() {
  tail_ = {};  // its tensors may be memory of a graph
  is_last_pass_ = gives_places_ = false;
  next_ = 0;
  std::ranges::fill(states_, State::kMissing);
  std::ranges::fill(num_missing_, 0);
  for (const MessageLayout::Place& place : layout_.places) ++num_missing_[place.piece];
}

at::Tensor GradientPieces::place_of(const at::Tensor& parameter) {
  const auto number = numbers_.find(parameter.unsafeGetTensorImpl());
  if (!gives_places_ || number == numbers_.end() || parameter.scalar_type() != at::kFloat) return {};
  State& state = states_[number->second];
  RNNLAB_INVARIANT(state == State::kMissing, "a layer that writes gradients into a message must run once a step");
  state = State::kPlaced;
  return place_of(number->second);
}

void GradientPieces::on_written(std::span<const at::Tensor> parameters) {
  for (const at::Tensor& parameter : parameters) {
    const auto number = numbers_.find(parameter.unsafeGetTensorImpl());
    if (number != numbers_.end() && states_[number->second] == State::kPlaced) mark(number->second, State::kInPlace);
  }
  send_complete_pieces();
}

void GradientPieces::on_accumulated(size_t parameter) {
  const State state = states_[parameter];
  if (!is_last_pass_ || (state != State::kMissing && state != State::kPlaced)) return;
  mark(parameter, state == State::kPlaced ? State::kInPlace : State::kToBeCopied);
  send_complete_pieces();
}

void GradientPieces::mark(size_t parameter, State state) {
  states_[parameter] = state;
  const size_t piece = layout_.places[parameter].piece;
  --num_missing_[piece];
  if (!is_last(piece)) let_stream_follow();
}

// The last piece travels on the stream of the step, which would have to wait for another one.
void GradientPieces::send_complete_pieces() {
  const at::NoGradGuard no_grad;
  const c10::OptionalStreamGuard stream(stream_);
  for (; !is_last(next_) && num_missing_[next_] == 0; ++next_) {
    fill(next_);
    send(next_);
  }
}

void GradientPieces::fill(size_t piece) {
  if (piece == 0)
    fill_message(copies_of(piece), &tail_, tail_of(messages_));
  else
    fill_message(copies_of(piece));
}

void GradientPieces::send(size_t piece) {
  const TraceRange range("exchange");
  const auto began = std::chrono::steady_clock::now();
  if (sources_.empty())
    ranks_.all_reduce(messages_[piece]);
  else
    announce_and_fetch(piece);
  seconds_ += seconds_since(began);
}

// Announcements, copies and sums have a stream each, so that none of them waits for work of another piece. The sums
// have a low priority, so they take the SMs that the kernels of the pass leave.
void GradientPieces::announce_and_fetch(size_t piece) {
  ranks_.announce(messages_[piece]);
  if (copy_stream_) order_streams(*stream_, *copy_stream_);
  {
    const c10::OptionalStreamGuard stream(copy_stream_);
    ranks_.fetch(messages_[piece]);
  }
  if (copy_stream_) order_streams(*copy_stream_, *sum_stream_);
  is_fetching_ = sum_stream_.has_value();
  const c10::OptionalStreamGuard stream(sum_stream_);
  add_up(sources_[piece].fetched, sums_[piece], summed_parts_[piece]);
}

// Reads the messages in the memory of their GPUs.
void GradientPieces::announce_and_read(size_t piece) {
  ranks_.announce(messages_[piece]);
  add_up(sources_[piece].of_ranks, sums_[piece], summed_parts_[piece]);
}

// The update does not wait for the barrier that ends the reads, because the barrier runs on another stream.
void GradientPieces::join_and_end_reads() {
  join();
  let_stream_follow();
  const c10::OptionalStreamGuard stream(stream_);
  ranks_.end_reads();
}

GradientCopies GradientPieces::copies_of(size_t piece) const {
  GradientCopies copies;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (layout_.places[i].piece != piece || states_[i] == State::kInPlace) continue;
    append_copy(parameters_[i].tensor, place_of(i), copies);
  }
  return copies;
}

// The stream of the pieces waits for all work that is queued on the current stream now.
void GradientPieces::let_stream_follow() {
  if (!stream_) return;
  order_streams(current_stream(stream_->device()), *stream_);
  is_forked_ = true;
}

void GradientPieces::join() {
  if (std::exchange(is_forked_, false)) order_streams(*stream_, current_stream(stream_->device()));
  if (std::exchange(is_fetching_, false)) order_streams(*sum_stream_, current_stream(sum_stream_->device()));
}

void GradientPieces::finish() {
  const at::NoGradGuard no_grad;
  if (is_last(next_)) fill(next_);  // while other pieces may still travel
  const bool is_filled = is_last(next_);
  if (sources_.empty()) join();
  for (; next_ < messages_.size(); ++next_) {
    if (!is_filled) fill(next_);
    if (sources_.empty())
      send(next_);
    else
      announce_and_read(next_);
  }
  if (!sources_.empty()) join_and_end_reads();
  forget_gradients();
}

at::Tensor GradientPieces::gradient(size_t parameter) const {
  const auto& [piece, offset] = layout_.places[parameter];
  return place_in(sums_[piece], offset, parameters_[parameter].tensor);
}

at::Tensor GradientPieces::place_of(size_t parameter) const {
  const auto& [piece, offset] = layout_.places[parameter];
  return place_in(messages_[piece], offset, parameters_[parameter].tensor);
}

at::Tensor GradientPieces::tail_of(const std::vector<at::Tensor>& pieces) const {
  return pieces.front().narrow(0, layout_.tail_offset, pieces.front().numel() - layout_.tail_offset);
}

at::Tensor GradientPieces::tail() const { return tail_of(sums_); }

int64_t GradientPieces::num_bytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& message : messages_) bytes += static_cast<int64_t>(message.nbytes());
  return bytes;
}

void GradientPieces::send_all() {
  const size_t num_before_last = messages_.size() - 1;
  if (!sources_.empty()) let_stream_follow();
  {
    const c10::OptionalStreamGuard stream(sources_.empty() ? std::nullopt : stream_);
    for (size_t i = 0; i < num_before_last; ++i) send(i);
  }
  send_last();
}

void GradientPieces::send_last() {
  const size_t last = messages_.size() - 1;
  if (sources_.empty()) return send(last);
  announce_and_read(last);
  join_and_end_reads();
  join();
}

}  // namespace rnnlab
