#include "distributed/rank_failure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/numbers.h"
#include "distributed/heartbeat.h"

namespace rnnlab {
namespace {

constexpr const char* kFailure = "failure";
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr std::chrono::seconds kGrace{20};

// False where `stop` came within the time.
bool wait_for(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

// Without destructors: the thread that would run them is stuck.
[[noreturn]] void end_process(const RankFailed& failure) {
  const std::string line = fmt::format("error: {}\n", failure.what());
  const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  (void)written;  // there is nowhere else to say it
  ::_exit(static_cast<int>(failure.exit_code()));
}

}  // namespace

void put_failure(c10d::Store& store, ExitCode exit_code, const std::string& message) noexcept {
  try {
    const std::string text = fmt::format("{} {}", static_cast<int>(exit_code), message);  // "4 rank 2 was killed"
    store.compareSet(kFailure, {}, std::vector<uint8_t>(text.begin(), text.end()));
  } catch (const std::exception&) {  // nobody is left to hear of it
    return;
  }
}

std::optional<RankFailed> failure_in(c10d::Store& store) {
  if (!store.check({kFailure})) return std::nullopt;
  const std::vector<uint8_t> bytes = store.get(kFailure);
  const std::string text(bytes.begin(), bytes.end());
  const size_t space = text.find(' ');
  const auto exit_code = static_cast<ExitCode>(parse_int64(text.substr(0, space)).value_or(1));
  return RankFailed(exit_code, text.substr(space + 1));
}

std::optional<RankFailed> wait_for_failure(c10d::Store& store) {
  constexpr std::chrono::seconds kLongest{3};
  constexpr std::chrono::milliseconds kPause{50};
  try {
    for (const auto end = std::chrono::steady_clock::now() + kLongest; std::chrono::steady_clock::now() < end;) {
      if (auto failure = failure_in(store)) return failure;
      std::this_thread::sleep_for(kPause);
    }
  } catch (const std::exception&) {  // the store is gone too
    return std::nullopt;
  }
  return std::nullopt;
}

FailureWatch::FailureWatch(c10d::Store& store, int64_t rank, int64_t size, std::chrono::milliseconds timeout,
                           std::function<void()> on_failure)
    : store_(store.clone()),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      on_failure_(std::move(on_failure)),
      signs_(static_cast<size_t>(size), {"", std::chrono::steady_clock::now()}),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void FailureWatch::watch(const std::stop_token& stop) {
  std::optional<RankFailed> failure;
  while (!failure) {
    if (!wait_for(stop, kBetweenLooks)) return;
    failure = look();
  }
  has_seen_failure_ = true;
  on_failure_();
  if (wait_for(stop, kGrace)) end_process(*failure);
}

std::optional<RankFailed> FailureWatch::look() {
  try {
    if (auto failure = failure_in(*store_)) return failure;
    return failure_of_silent();
  } catch (const std::exception&) {
    return RankFailed(ExitCode::kDevice,
                      fmt::format("rank {} of {} cannot reach the store of its run any more, so the process that holds "
                                  "it has ended, which is that of rank 0 or its launcher",
                                  rank_, size_));
  }
}

std::optional<RankFailed> FailureWatch::failure_of_silent() {
  const std::vector<std::string> beats = beats_in(*store_, size_);
  const auto now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < signs_.size(); ++i) {
    if (signs_[i].text != beats[i]) signs_[i] = {beats[i], now};
    if (now - signs_[i].since < timeout_) continue;
    const std::string text = fmt::format(
        "rank {} of {} ({}) gave no sign for {} s, so the run ends: see whether it was stopped, or its host is gone", i,
        size_, process_of(beats[i]), timeout_.count() / 1000);
    put_failure(*store_, ExitCode::kDevice, text);
    return failure_in(*store_);
  }
  return std::nullopt;
}

}  // namespace rnnlab
