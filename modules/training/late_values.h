// Small values that a device computes turn after turn, read by the host some turns later, so that it never waits for
// the turn that it queued last. Every reader of the same turns gets each value at the same turn.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <deque>
#include <functional>
#include <optional>

namespace rnnlab {

class LateValues {
 public:
  // So many turns stay queued on a GPU while the host reads. On a CPU values are there at once.
  static constexpr size_t kTurnsBehind = 2;

  // After a turn was queued on the current stream: takes a copy of `values`.
  void append(const at::Tensor& values);

  // The oldest values that were not read yet, on the CPU, if kTurnsBehind turns were queued since. `wait_until` waits
  // for their turn to end.
  using WaitUntil = std::function<void(const std::function<bool()>& has_ended)>;
  std::optional<at::Tensor> next(const WaitUntil& wait_until);

  void clear() { copies_.clear(); }

 private:
  struct Copy {
    at::Tensor on_host;
    std::optional<c10::Event> written;  // nothing on a CPU
  };

  std::deque<Copy> copies_;
};

}  // namespace rnnlab
