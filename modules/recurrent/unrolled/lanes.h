// Where a pass queues its work: lane 0 is the stream that is current when the pass begins, every further lane a stream
// of its own: side lanes of the lowest priority, for what fills up what others leave, main lanes of that of lane 0. On
// the CPU, and where there is one lane only, everything runs in the order it is given.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace rnnlab {

class StreamSet {
 public:
  // Lane 0, then the side lanes, then the main ones. All begin after what is queued on the current stream. Needs no
  // join() if nothing is queued on the others.
  StreamSet(at::Device device, size_t num_side_lanes, size_t num_main_lanes = 0);

  // Joins the lanes of a pass that ends by an exception: its tensors are freed on the current stream, and would be
  // given to others while kernels of the other lanes still write to them.
  ~StreamSet();
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  void run(size_t lane, const std::function<void()>& work) const;

  // What is queued on lane `after` from now on waits for all that is queued on lane `before` until now.
  void order(size_t before, size_t after) const;

  // The current stream waits for all lanes: from now on their tensors are safe to use and to free there. Ends the pass:
  // nothing is queued on the other lanes any more.
  void join();

 private:
  std::vector<c10::Stream> streams_;  // none on the CPU
  bool is_joined_ = false;
};

}  // namespace rnnlab
