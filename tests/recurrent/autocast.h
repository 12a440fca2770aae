// Turns on autocast to 16 bits on one kind of device during its lifetime, as training with `precision: bf16` or `fp16`.
#pragma once

#include <ATen/autocast_mode.h>

namespace rnnlab {

class Autocast {
 public:
  explicit Autocast(at::DeviceType device, at::ScalarType type = at::kBFloat16) : device_(device) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, type);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
};

}  // namespace rnnlab
