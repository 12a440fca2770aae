// SPDX-License-Identifier: Apache-2.0
// The CUDA streams on which a pass queues its work, by their index. Stream 0 is the stream that is current when the
// pass begins. Side streams have the lowest priority and fill unused parts of the GPU. Main streams have the priority
// of stream 0. On the CPU, and with only one stream, everything runs in the order in which it is queued.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace rnnlab {

class StreamSet {
 public:
  // Stream 0 is followed by the side streams and then by the main streams. All streams begin after the work that is
  // queued on the current stream. A stream that is not used costs nothing. join() is not needed if nothing is queued on
  // further streams.
  StreamSet(at::Device device, size_t num_side_streams, size_t num_main_streams = 0);

  // Joins the streams of a pass that ends by an exception. Its tensors are freed on the current stream, and their
  // memory would be reused while kernels on other streams still write to it.
  ~StreamSet();
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  void run(size_t stream, const std::function<void()>& work) const;

  // Work that is queued on stream `after` from now on waits for all work that is queued on stream `before` now.
  void order(size_t before, size_t after) const;

  // Makes the current stream wait for all streams, so that their tensors can be used and freed there. This ends the
  // pass: nothing may be queued on other streams afterwards.
  void join();

 private:
  void begin(size_t stream) const;

  std::vector<c10::Stream> streams_;     // empty on the CPU
  std::optional<c10::Event> begin_;      // recorded on stream 0, if there are others
  mutable std::vector<bool> are_begun_;  // the streams that wait for begin_
  bool is_joined_ = false;
};

}  // namespace rnnlab
