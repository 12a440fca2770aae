// SPDX-License-Identifier: Apache-2.0
// See ../README.md.
#pragma once

#include <chrono>

namespace gloo {

namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);  // defined in libtorch_cpu.so
};

}  // namespace gloo
