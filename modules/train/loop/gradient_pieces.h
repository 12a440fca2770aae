// SPDX-License-Identifier: Apache-2.0
// The message in which the gradients of a rank travel to the other ranks: where each gradient lies in it, and which
// gradients travel together as one piece. A piece is summed over all ranks as soon as its gradients are written, while
// the backward pass still computes the gradients of later pieces. Gradients lie in the order in which a backward pass
// writes them: from the last parameter to the first, and then the tables of embeddings. The sums of a step's losses
// travel with the first piece, because they are known before the backward pass.
//
// The backend adds the pieces up where they lie, or this rank fetches those of all ranks and adds them up itself
// (Ranks::sources_of). Fetching needs no kernels, so it takes nothing from the backward pass; the sums need few SMs.
// The sum of the last piece reads the messages where they lie.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "layers/parameters.h"
#include "train/loop/kernels/optimizer.h"
#include "train/loop/step_record.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

// Offsets and sizes are numbers of floats.
struct MessageLayout {
  struct Place {
    size_t piece = 0;
    int64_t offset = 0;  // in the piece; a multiple of kAlignment
  };
  static constexpr int64_t kAlignment = 32;  // kernels load vectors

  std::vector<Place> places;  // of each parameter, in the order of the network
  std::vector<int64_t> piece_sizes;
  int64_t tail_offset = 0;  // in the first piece, of numbers that are not gradients
};

enum class Pieces { kOne, kSeveral, kSeveralOfEachLayer };

// Returns the layout of the parameters' gradients and of `tail` further floats. With kSeveral, a piece ends where
// another layer begins if it has 512 KiB by then. A piece also ends within a layer, at 4 MiB, if 512 KiB of the layer
// are left and the layer is not the only large one. With kSeveralOfEachLayer it may be the only large one. If
// `least_bytes` is given, pieces end at this size instead.
MessageLayout layout_of(const std::vector<NamedTensor>& parameters, int64_t tail, Pieces pieces,
                        const std::optional<int64_t>& least_bytes = std::nullopt);

// Returns the place of a gradient in its piece, with the shape and the strides of the parameter.
at::Tensor place_in(const at::Tensor& piece, int64_t offset, const at::Tensor& parameter);

// What travels beside the gradients: the sums of a step's losses and its metric, and a number of each rank, 0 unless
// the rank asks all to stop.
struct MessageTail {
  Evaluation sums;
  double factor = 1;   // of both losses
  at::Tensor request;  // () float32, of this rank
  int64_t rank = 0;
  int64_t num_ranks = 1;

  static constexpr int64_t kNumSums = 3;  // loss, weighted loss, metric
  static int64_t size_for(int64_t num_ranks) { return kNumSums + num_ranks; }
};

// Gradients, and their places in a message.
using GradientCopies = std::vector<std::pair<at::Tensor, at::Tensor>>;  // from, to

// Appends the copy of a parameter's gradient to its place; sets the place to 0 if there is no gradient.
void append_copy(const at::Tensor& parameter, const at::Tensor& place, GradientCopies& copies);

// Queues copies of gradients, and writes the tail, if there is one, to `place`. On a GPU with own kernels it is one
// kernel.
void fill_message(const GradientCopies& copies, const MessageTail* tail = nullptr, const at::Tensor& place = {});

// Adds up the messages of all ranks in their order, so that all ranks get the same bits. On a GPU with own kernels it
// is one kernel, which adds up `parts` only; elsewhere the whole messages are added up, without partial sums of norms.
void add_up(const std::vector<at::Tensor>& sources, const at::Tensor& sum, std::span<const kernels::SummedPart> parts);

// Autograd and layers (GradientSink) tell which gradients are written. All ranks send the pieces in the same order, and
// the last piece at the end of the step.
class GradientPieces : public GradientSink {
 public:
  // `ranks` must outlive this object, and `parameters` must be on their device by now.
  GradientPieces(Ranks& ranks, std::vector<NamedTensor> parameters, int64_t tail, Pieces pieces,
                 const std::optional<int64_t>& least_bytes);
  ~GradientPieces() override;
  GradientPieces(const GradientPieces&) = delete;
  GradientPieces& operator=(const GradientPieces&) = delete;

  // Call this function before each step. It forgets the last step, which may have ended by an exception.
  void begin_step();

  // Sets the tail of the next step. Call this function before begin_last_pass(), or before finish() if there is no
  // pass.
  void set_tail(MessageTail tail) { tail_ = std::move(tail); }

  // Call this function before the last backward pass of a step, if there is one: the gradients that this pass writes
  // may be sent at once. `is_only_pass`: no other pass adds to the same gradients, so layers may write them into the
  // message.
  void begin_last_pass(bool is_only_pass);

  // Sends what is not sent yet. Afterwards the current stream waits for all pieces, and gradients and tail are sums.
  void finish();

  // Call this function after the work that a step queues after finish(). Afterwards messages may be written again.
  void end_step() { join(); }

  at::Tensor gradient(size_t parameter) const;           // a view of the sums
  at::Tensor tail() const;                               // a view of the sums
  at::Tensor norm_parts() const { return norm_parts_; }  // of all gradients, for kernels::Norms; may be undefined
  size_t num_pieces() const { return layout_.piece_sizes.size(); }
  int64_t num_bytes() const;

  double take_seconds() { return std::exchange(seconds_, 0); }  // of the host in the backend, since the last call

  // These functions queue an exchange of all pieces, or of the last piece, whatever the message has.
  void send_all();
  void send_last();

  at::Tensor place_of(const at::Tensor& parameter) override;
  void on_written(std::span<const at::Tensor> parameters) override;

 private:
  // kPlaced: a layer has the place and will write the gradient there.
  enum class State { kMissing, kPlaced, kToBeCopied, kInPlace };

  void find_sources(Ranks& ranks);
  std::vector<std::vector<kernels::SummedPart>> parts_of_sums() const;
  void forget_gradients();
  void watch(size_t parameter);
  void on_accumulated(size_t parameter);
  void mark(size_t parameter, State state);
  void send_complete_pieces();
  void fill(size_t piece);
  bool is_last(size_t piece) const { return piece + 1 == layout_.piece_sizes.size(); }
  void send(size_t piece);
  void announce_and_fetch(size_t piece);
  void announce_and_read(size_t piece);
  void join_and_end_reads();
  at::Tensor place_of(size_t parameter) const;  // in the message
  at::Tensor tail_of(const std::vector<at::Tensor>& pieces) const;
  GradientCopies copies_of(size_t piece) const;
  void let_stream_follow();
  void join();

  Ranks& ranks_;
  std::vector<NamedTensor> parameters_;
  std::map<const c10::TensorImpl*, size_t> numbers_;  // of the parameters
  MessageLayout layout_;
  std::vector<at::Tensor> messages_;     // one for each piece
  std::vector<at::Tensor> sums_;         // of all ranks; messages_, if the backend adds up
  std::vector<MessageSources> sources_;  // of each message; empty if the backend computes the sums
  std::vector<std::vector<kernels::SummedPart>> summed_parts_;  // of each piece, with sources_
  at::Tensor norm_parts_;
  std::optional<c10::Stream> stream_;                    // on which pieces travel beside other work; empty on a CPU
  std::optional<c10::Stream> copy_stream_, sum_stream_;  // with sources_

  // Of the current step.
  MessageTail tail_;
  bool is_last_pass_ = false;
  bool gives_places_ = false;
  bool is_forked_ = false;            // the current stream has not waited for stream_ yet
  bool is_fetching_ = false;          // the same for sum_stream_
  std::vector<State> states_;         // of each parameter
  std::vector<int64_t> num_missing_;  // of each piece
  size_t next_ = 0;                   // the next piece to send

  double seconds_ = 0;
};

}  // namespace rnnlab
