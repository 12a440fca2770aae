#include "data/readers/parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace rnnlab {

void parallel_for(int64_t count, const std::function<void(int64_t, int64_t)>& body) {
  constexpr int64_t kMostThreads = 16;
  const int64_t num_threads =
      std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::min(kMostThreads, std::max<int64_t>(count, 1)));
  const int64_t part = (count + num_threads - 1) / num_threads;
  std::vector<std::jthread> threads;
  int64_t begin = part;
  try {
    for (; begin < count; begin += part) threads.emplace_back(body, begin, std::min(begin + part, count));
  } catch (const std::system_error&) {
    body(begin, count);  // the system makes no more threads
  }
  body(0, std::min(part, count));
}

}  // namespace rnnlab
