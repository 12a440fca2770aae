// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "base/numbers.h"
#include "base/text.h"
#include "train/ranks/bounded_work.h"
#include "train/ranks/store.h"

namespace rnnlab {
namespace {

constexpr std::chrono::milliseconds kBetweenRounds{500};
constexpr char kEndOfField = '|';
constexpr const char *kWrites = "writes", *kLeft = "left", *kTrains = "trains";

std::string key_of_heartbeat(int64_t rank) { return fmt::format("beat/{}", rank); }

// Returns nothing if the rank has sent no heartbeat yet.
std::optional<RankStatus> parse_status(const std::string& text) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr size_t kMostBytes = 1024, kFewestFields = 2, kMostFields = 4;
  if (text.size() > kMostBytes) return std::nullopt;
  const std::vector<std::string> parts = split(text, kEndOfField);
  if (parts.size() != kFewestFields && parts.size() != kMostFields) return std::nullopt;
  const auto numbers_from = parts.begin() + kFewestFields;
  if (!std::all_of(numbers_from, parts.end(), [](const auto& part) { return parse_int64(part, 0, kMost).has_value(); }))
    return std::nullopt;
  const std::string& what = parts[1];
  if (parts[0].empty() || (what != kWrites && what != kLeft && what != kTrains)) return std::nullopt;
  return RankStatus{.process = process_name(parts[0]),
                    .num_operations = parts.size() == kMostFields ? parse_int64(parts[2], 0, kMost).value_or(0) : 0,
                    .num_rounds = parts.size() == kMostFields ? parse_int64(parts[3], 0, kMost).value_or(0) : 0,
                    .writes_files = what == kWrites,
                    .has_left = what == kLeft};
}

// Somebody may put an earlier heartbeat back. A process that cannot join sends heartbeats without a number.
bool is_replayed(const RankStatus& last, const RankStatus& heartbeat) {
  return heartbeat.num_rounds < last.num_rounds && !heartbeat.has_left;
}

// Returns the last heartbeat of each rank as text; "" if a rank has sent no heartbeat yet.
std::vector<std::string> read_heartbeats(c10d::Store& store, const std::vector<std::string>& keys) {
  std::vector<std::string> texts;
  for (const std::string& key : keys) texts.push_back(text_at(store, key));
  return texts;
}

}  // namespace

struct Heartbeat::Shared {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank = 0;
  std::vector<std::string> keys;  // one for each rank

  std::mutex mutex;
  std::condition_variable changed;
  bool is_poll_requested = false;  // set by request_poll()
  bool is_stopping = false;
  bool has_ended = false;
  int64_t num_operations = 0;
  int64_t num_writers = 0;
  std::chrono::steady_clock::time_point counted_at;
  std::vector<std::string> texts;  // the last valid heartbeats, as stored
  RunStatus status;

  std::chrono::steady_clock::time_point ran_at = std::chrono::steady_clock::now();
  std::chrono::milliseconds run_time{0};              // without the time during which this process was suspended
  std::chrono::milliseconds round_ended_at{0};        // this and the next in run_time
  std::vector<std::chrono::milliseconds> changed_at;  // one for each rank
  std::vector<std::string> texts_then;

  std::string own_heartbeat() const {
    const char* what = is_stopping ? kLeft : num_writers > 0 ? kWrites : kTrains;
    return fmt::format("{1}{0}{2}{0}{3}{0}{4}", kEndOfField, this_process(), what, num_operations, status.num_rounds);
  }

  void take(const std::vector<std::string>& now, std::optional<RankFailure> failure) {
    // Rounds that request_poll() asked for are early, so they do not count as silent rounds.
    const auto time = std::chrono::steady_clock::now();
    const int64_t one_more = time - counted_at >= kBetweenRounds ? 1 : 0;
    if (one_more > 0) counted_at = time;
    for (size_t i = 0; i < now.size(); ++i) {
      const auto heartbeat = parse_status(now[i]);
      if (!heartbeat || now[i] == texts[i] || is_replayed(status.ranks[i], *heartbeat)) {
        status.ranks[i].num_silent_rounds += one_more;
        continue;
      }
      status.ranks[i] = *heartbeat;
      texts[i] = now[i];
    }
    if (failure) {
      // A rank that failed before its first heartbeat has sent its process only with the failure.
      std::string& process = status.ranks[static_cast<size_t>(failure->rank)].process;
      if (process.empty()) process = failure->process;
    }
    status.failure = std::move(failure);
    ++status.num_rounds;
  }

  // The thread and those that wait call this function twice a second or more often, so a long gap is a suspension.
  void advance_run_time() {
    constexpr std::chrono::milliseconds kLongestGap{1000};
    const auto now = std::chrono::steady_clock::now();
    const auto gap = std::chrono::duration_cast<std::chrono::milliseconds>(now - ran_at);
    if (gap.count() <= 0) return;
    run_time += std::min(gap, kLongestGap);
    ran_at = now;
  }

  void end_round() {
    advance_run_time();
    round_ended_at = run_time;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i] == texts_then[i]) continue;
      texts_then[i] = texts[i];
      changed_at[i] = run_time;
    }
  }

  RunStatus status_now() {
    advance_run_time();
    RunStatus now = status;
    now.store_silence = run_time - round_ended_at;
    for (size_t i = 0; i < now.ranks.size(); ++i) now.ranks[i].silence = round_ended_at - changed_at[i];
    return now;
  }

  // The lock is released while the store is read, because the read may never return.
  void poll(std::unique_lock<std::mutex>& lock) {
    const std::string heartbeat = own_heartbeat();
    lock.unlock();
    put_text(*store, keys[static_cast<size_t>(rank)], heartbeat);
    const std::vector<std::string> now = read_heartbeats(*store, keys);
    std::optional<RankFailure> failure = failure_in(*store, std::ssize(keys));
    lock.lock();
    take(now, std::move(failure));
    end_round();
  }

  void run(c10d::Store& original) {
    std::unique_lock lock(mutex, std::defer_lock);
    try {
      store = original.clone();
      lock.lock();
      for (bool is_last = false; !is_last;) {
        is_last = is_stopping;
        poll(lock);
        changed.wait_for(lock, kBetweenRounds, [&] { return is_poll_requested || is_stopping || is_last; });
        is_poll_requested = false;
      }
    } catch (const std::exception&) {
      if (!lock.owns_lock()) lock.lock();
      status.is_store_gone = true;
    }
    has_ended = true;
    changed.notify_all();
  }
};

Heartbeat::Heartbeat(c10d::Store& store, int64_t rank, int64_t size) : shared_(std::make_shared<Shared>()) {
  const auto original = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  shared_->rank = rank;
  for (int64_t i = 0; i < size; ++i) shared_->keys.push_back(key_of_heartbeat(i));
  shared_->texts.resize(static_cast<size_t>(size));
  shared_->texts_then.resize(static_cast<size_t>(size));
  shared_->changed_at.resize(static_cast<size_t>(size));
  shared_->status.ranks.resize(static_cast<size_t>(size));
  std::thread([shared = shared_, original] { shared->run(*original); }).detach();
}

Heartbeat::~Heartbeat() {
  constexpr std::chrono::seconds kLongest{2};
  std::unique_lock lock(shared_->mutex);
  const bool can_say_so = !is_store_silent(shared_->status_now());
  shared_->is_stopping = true;
  shared_->changed.notify_all();
  if (can_say_so) shared_->changed.wait_for(lock, kLongest, [&] { return shared_->has_ended; });
}

void Heartbeat::set_step(int64_t step) {
  const std::lock_guard lock(shared_->mutex);
  shared_->status.step = step;
}

void Heartbeat::set_writing(bool writes_files) {
  const std::lock_guard lock(shared_->mutex);
  shared_->num_writers += writes_files ? 1 : -1;
}

int64_t Heartbeat::count_operation() {
  const std::lock_guard lock(shared_->mutex);
  return ++shared_->num_operations;
}

int64_t Heartbeat::num_operations() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->num_operations;
}

RunStatus Heartbeat::status() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->status_now();
}

void Heartbeat::request_poll() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_poll_requested = true;
  shared_->changed.notify_all();
}

RunStatus Heartbeat::poll_until(std::chrono::milliseconds longest,
                                const std::function<bool(const RunStatus&)>& is_enough) {
  constexpr std::chrono::milliseconds kPause{20};
  for (const auto end = std::chrono::steady_clock::now() + longest;;) {
    request_poll();
    std::this_thread::sleep_for(kPause);
    const RunStatus now = status();
    if (is_enough(now) || std::chrono::steady_clock::now() >= end) return now;
  }
}

std::string name_of_rank(const RunStatus& status, int64_t rank) {
  const RankStatus& rank_status = status.ranks[static_cast<size_t>(rank)];
  std::string who = fmt::format("rank {} of {}", rank, status.ranks.size());
  if (rank_status.process.empty()) return who;
  const std::string place = status.step > 0 ? fmt::format(", step {}", status.step) : "";
  return fmt::format("{} ({}{})", who, rank_status.process, place);
}

void put_heartbeat(c10d::Store& store, int64_t rank) {
  put_text(store, key_of_heartbeat(rank), fmt::format("{}{}{}", this_process(), kEndOfField, kTrains));
}

void put_departure(c10d::Store& store, int64_t rank) {
  put_text(store, key_of_heartbeat(rank), fmt::format("{}{}{}", this_process(), kEndOfField, kLeft));
}

using std::chrono::milliseconds;

// On a busy machine a heartbeat may come late, so one round without it is not silence yet.
bool is_silent(const RankStatus& status, milliseconds time) {
  constexpr int64_t kLeastRounds = 2;
  return status.silence >= time && status.num_silent_rounds >= kLeastRounds;
}

bool is_store_silent(const RunStatus& status) {
  constexpr milliseconds kSilence{2000};
  return status.is_store_gone || status.store_silence >= kSilence;
}

}  // namespace rnnlab
