// SPDX-License-Identifier: Apache-2.0
// A vector whose new elements are not set to zero. A reader fills them, and for a large file setting them to zero first
// takes as long as reading. An element that is read before it is written has an undefined value.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace rnnlab {

template <class T>
struct UnfilledAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnfilledAllocator<U>;
  };

  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }

  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    std::construct_at(at, std::forward<Values>(values)...);
  }
};

template <class T>
using UnfilledVector = std::vector<T, UnfilledAllocator<T>>;

}  // namespace rnnlab
