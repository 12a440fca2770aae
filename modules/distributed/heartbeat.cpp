#include "distributed/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/text.h"

namespace rnnlab {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{500};
constexpr char kEndOfName = '|';

std::string key_of_beat(int64_t rank) { return fmt::format("beat/{}", rank); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::vector<uint8_t> beat_of_this_process(int64_t number) {
  const std::string text = fmt::format("process {} of {}{}{}", ::getpid(), host_name(), kEndOfName, number);
  return {text.begin(), text.end()};
}

// False where the store is gone.
bool beat(c10d::Store& store, int64_t rank, int64_t number) {
  try {
    store.set(key_of_beat(rank), beat_of_this_process(number));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void beat_until(const std::stop_token& stop, c10d::Store& store, int64_t rank) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  for (int64_t number = 1; beat(store, rank, number); ++number)
    if (changed.wait_for(lock, stop, kBetweenBeats, [] { return false; }) || stop.stop_requested()) return;
}

}  // namespace

Heartbeat::Heartbeat(c10d::Store& store, int64_t rank)
    : store_(store.clone()), thread_([this, rank](const std::stop_token& stop) { beat_until(stop, *store_, rank); }) {}

std::vector<std::string> beats_in(c10d::Store& store, int64_t num_ranks) {
  std::vector<std::string> beats;
  for (int64_t i = 0; i < num_ranks; ++i) {
    const std::string key = key_of_beat(i);
    if (!store.check({key})) {
      beats.emplace_back();
      continue;
    }
    const std::vector<uint8_t> bytes = store.get(key);
    beats.emplace_back(bytes.begin(), bytes.end());
  }
  return beats;
}

std::string process_of(const std::string& beat) {
  return beat.empty() ? "an unknown process" : beat.substr(0, beat.find(kEndOfName));
}

}  // namespace rnnlab
