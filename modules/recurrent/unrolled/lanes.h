// The streams on which a pass queues its work. Lane 0 is the stream that is current when the pass begins; every further
// lane has its own stream. Side lanes have the lowest priority and fill unused parts of the GPU. Main lanes have the
// priority of lane 0. On the CPU, and with only one lane, everything runs in the order in which it is queued.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace rnnlab {

class StreamSet {
 public:
  // Lane 0 is followed by the side lanes and then by the main lanes. All lanes begin after the work that is queued on
  // the current stream. join() is not needed if nothing is queued on further lanes.
  StreamSet(at::Device device, size_t num_side_lanes, size_t num_main_lanes = 0);

  // Joins the lanes of a pass that ends by an exception. Its tensors are freed on the current stream, and their memory
  // would be reused while kernels on other lanes still write to it.
  ~StreamSet();
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  void run(size_t lane, const std::function<void()>& work) const;

  // Work that is queued on lane `after` from now on waits for all work that is queued on lane `before` now.
  void order(size_t before, size_t after) const;

  // Makes the current stream wait for all lanes, so that their tensors can be used and freed there. This ends the pass:
  // nothing may be queued on other lanes afterwards.
  void join();

 private:
  std::vector<c10::Stream> streams_;  // none on the CPU
  bool is_joined_ = false;
};

}  // namespace rnnlab
