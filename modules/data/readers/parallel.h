// Work on a range of numbers shared out over the processor's threads. For generators, whose every item stands alone.
#pragma once

#include <cstdint>
#include <functional>

namespace rnnlab {

// Calls body(begin, end) for consecutive parts of [0, count), each on a thread of its own, and waits for all.
// The body must not throw.
void parallel_for(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace rnnlab
