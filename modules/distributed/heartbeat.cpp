#include "distributed/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr const char* kFailure = "failure";
constexpr const char* kTold = "told";
constexpr char kEndOfPart = '\n';

// Returns true for example for "x.csv: no such file" and "rank 1 of 2 failed: x.csv: no such file".
bool say_the_same(const std::string& a, const std::string& b) {
  return a.find(b) != std::string::npos || b.find(a) != std::string::npos;
}

void await_rank_0(c10d::Store& store) {
  constexpr std::chrono::seconds kLongest{3};
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!store.check({kTold}) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
}

}  // namespace

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void put_failure(c10d::Store& store, const RankFailure& failure) {
  store.compareSet(kFailure, {},
                   bytes_of(fmt::format("{1}{0}{2}{0}{3}", kEndOfPart, failure.rank,
                                        static_cast<int>(failure.exit_code), failure.message)));
}

std::optional<RankFailure> failure_in(c10d::Store& store) {
  if (!store.check({kFailure})) return std::nullopt;
  const std::string text = text_at(store, kFailure);
  const size_t first = text.find(kEndOfPart), second = text.find(kEndOfPart, first + 1);
  const auto exit_code = parse_int64(text.substr(first + 1, second - first - 1)).value_or(1);
  return RankFailure{.rank = parse_int64(text.substr(0, first)).value_or(0),
                     .exit_code = static_cast<ExitCode>(exit_code),
                     .message = text.substr(second + 1)};
}

bool is_to_tell(c10d::Store& store, int64_t rank, const std::string& message) {
  if (rank != 0) await_rank_0(store);
  const std::string own = fmt::format("{}{}{}", rank, kEndOfPart, message);
  const std::vector<uint8_t> bytes = store.compareSet(kTold, {}, bytes_of(own));
  const std::string told(bytes.begin(), bytes.end());
  if (rank == 0 || told == own) return true;
  return !say_the_same(told.substr(told.find(kEndOfPart) + 1), message);
}

namespace {

constexpr std::chrono::milliseconds kBetweenRounds{500};
constexpr char kEndOfSignPart = '|';
constexpr const char *kWrites = "writes", *kLeft = "left", *kTrains = "trains";

std::string key_of_sign(int64_t rank) { return fmt::format("beat/{}", rank); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::string this_process() { return fmt::format("process {} of {}", ::getpid(), host_name()); }

Sign sign_from(const std::string& text) {
  const std::vector<std::string> parts = split(text, kEndOfSignPart);
  const auto number = [&](size_t i) { return i < parts.size() ? parse_int64(parts[i]).value_or(0) : 0; };
  const std::string what = parts.size() > 1 ? parts[1] : "";
  return {.process = parts[0], .num_operations = number(2), .writes_files = what == kWrites, .has_left = what == kLeft};
}

// Returns the text of each rank; "" if a rank has sent no sign.
std::vector<std::string> signs_in(c10d::Store& store, const std::vector<std::string>& keys) {
  std::vector<std::string> texts;
  for (const std::string& key : keys) texts.push_back(store.check({key}) ? text_at(store, key) : "");
  return texts;
}

}  // namespace

struct Heartbeat::Shared {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank = 0;
  std::vector<std::string> keys;  // one for each rank

  std::mutex mutex;
  std::condition_variable changed;
  bool is_look_wanted = false;  // set by look_now()
  bool is_end_wanted = false;
  bool has_ended = false;
  int64_t num_operations = 0;
  int64_t num_writers = 0;
  std::chrono::steady_clock::time_point counted_at;
  std::vector<std::string> texts;  // the last signs, as stored
  Seen seen;

  std::string own_sign() const {
    const char* what = is_end_wanted ? kLeft : num_writers > 0 ? kWrites : kTrains;
    return fmt::format("{1}{0}{2}{0}{3}{0}{4}", kEndOfSignPart, this_process(), what, num_operations, seen.num_rounds);
  }

  void take(const std::vector<std::string>& now, std::optional<RankFailure> failure) {
    // Rounds that look_now() requested come early, so they do not count as silent rounds.
    const auto time = std::chrono::steady_clock::now();
    const int64_t one_more = time - counted_at >= kBetweenRounds ? 1 : 0;
    if (one_more > 0) counted_at = time;
    for (size_t i = 0; i < now.size(); ++i) {
      const int64_t num_silent_rounds = now[i] == texts[i] ? seen.signs[i].num_silent_rounds + one_more : 0;
      seen.signs[i] = sign_from(now[i]);
      seen.signs[i].num_silent_rounds = num_silent_rounds;
    }
    texts = now;
    seen.failure = std::move(failure);
    ++seen.num_rounds;
  }

  // The lock is released while the store is read, because the read may never return.
  void look(std::unique_lock<std::mutex>& lock) {
    const std::string sign = own_sign();
    lock.unlock();
    store->set(keys[static_cast<size_t>(rank)], bytes_of(sign));
    const std::vector<std::string> now = signs_in(*store, keys);
    std::optional<RankFailure> failure = failure_in(*store);
    lock.lock();
    take(now, std::move(failure));
  }

  void run(c10d::Store& original) {
    std::unique_lock lock(mutex, std::defer_lock);
    try {
      store = original.clone();
      lock.lock();
      for (bool is_last = false; !is_last;) {
        is_last = is_end_wanted;
        look(lock);
        changed.wait_for(lock, kBetweenRounds, [&] { return is_look_wanted || is_end_wanted || is_last; });
        is_look_wanted = false;
      }
    } catch (const std::exception&) {
      if (!lock.owns_lock()) lock.lock();
      seen.is_store_gone = true;
    }
    has_ended = true;
    changed.notify_all();
  }
};

Heartbeat::Heartbeat(c10d::Store& store, int64_t rank, int64_t size) : shared_(std::make_shared<Shared>()) {
  const auto original = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  shared_->rank = rank;
  for (int64_t i = 0; i < size; ++i) shared_->keys.push_back(key_of_sign(i));
  shared_->texts.resize(static_cast<size_t>(size));
  shared_->seen.signs.resize(static_cast<size_t>(size));
  std::thread([shared = shared_, original] { shared->run(*original); }).detach();
}

Heartbeat::~Heartbeat() {
  constexpr std::chrono::seconds kLongest{2};
  std::unique_lock lock(shared_->mutex);
  shared_->is_end_wanted = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kLongest, [&] { return shared_->has_ended; });
}

void Heartbeat::set_step(int64_t step) {
  const std::lock_guard lock(shared_->mutex);
  shared_->seen.step = step;
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

Seen Heartbeat::seen() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->seen;
}

void Heartbeat::look_now() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_look_wanted = true;
  shared_->changed.notify_all();
}

Seen Heartbeat::look_until(std::chrono::milliseconds longest, const std::function<bool(const Seen&)>& is_enough) {
  constexpr std::chrono::milliseconds kPause{20};
  for (const auto end = std::chrono::steady_clock::now() + longest;;) {
    look_now();
    std::this_thread::sleep_for(kPause);
    const Seen now = seen();
    if (is_enough(now) || std::chrono::steady_clock::now() >= end) return now;
  }
}

std::string name_of_rank(const Seen& seen, int64_t rank) {
  const Sign& sign = seen.signs[static_cast<size_t>(rank)];
  const std::string who = fmt::format("rank {} of {}", rank, seen.signs.size());
  if (sign.process.empty()) return who;
  const std::string place = seen.step > 0 ? fmt::format(", step {}", seen.step) : "";
  return fmt::format("{} ({}{})", who, sign.process, place);
}

void put_sign_of_life(c10d::Store& store, int64_t rank) {
  store.set(key_of_sign(rank), bytes_of(fmt::format("{}{}{}", this_process(), kEndOfSignPart, kTrains)));
}

void put_sign_of_leaving(c10d::Store& store, int64_t rank) {
  store.set(key_of_sign(rank), bytes_of(fmt::format("{}{}{}", this_process(), kEndOfSignPart, kLeft)));
}

namespace {

using std::chrono::milliseconds;

constexpr int64_t kFewRounds = 3;
constexpr int kTimesLonger = 3;

// The heartbeat makes one round in each turn; on a busy machine rounds and turns are both longer.
int64_t num_rounds_in(milliseconds time) { return std::max<int64_t>(time / Patience::kTurn, 2); }

std::string names_of(const Seen& seen, const std::function<bool(int64_t)>& is_meant) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < std::ssize(seen.signs); ++i)
    if (is_meant(i)) names.push_back(name_of_rank(seen, i));
  return join(names, ", ");
}

std::string silent_ranks(const Seen& seen, int64_t own_rank, int64_t num_rounds) {
  return names_of(seen, [&](int64_t i) {
    const Sign& sign = seen.signs[static_cast<size_t>(i)];
    return i != own_rank && !sign.has_left && sign.num_silent_rounds >= num_rounds;
  });
}

RankFailed silence_of(const std::string& names) {
  return {ExitCode::kDevice,
          names + " does not respond, so the run ends: check whether it was killed or suspended, or its host is down"};
}

RankFailed lost_store(const Seen& seen, int64_t own_rank) {
  return {ExitCode::kDevice,
          fmt::format("{} cannot reach the store of its run: check whether the process that holds it, rank 0 or its "
                      "launcher, was killed or suspended; {} was the last sign of rank 0",
                      name_of_rank(seen, own_rank), name_of_rank(seen, 0))};
}

}  // namespace

RankFailed as_rank_failed(const Seen& seen) {
  const RankFailure& failure = *seen.failure;
  return {failure.exit_code, fmt::format("{} failed: {}", name_of_rank(seen, failure.rank), failure.message)};
}

Patience::Patience(Heartbeat& heartbeat, int64_t rank, milliseconds timeout, milliseconds absence,
                   int64_t own_operations, For purpose)
    : heartbeat_(heartbeat),
      rank_(rank),
      timeout_(timeout),
      absence_(absence),
      own_operations_(own_operations),
      for_(purpose),
      num_rounds_(heartbeat.seen().num_rounds) {}

void Patience::wait_on() {
  const Seen seen = heartbeat_.seen();
  if (seen.failure) throw as_rank_failed(seen);
  without_store_ = seen.num_rounds == num_rounds_ ? without_store_ + kTurn : milliseconds(0);
  num_rounds_ = seen.num_rounds;
  if (seen.is_store_gone || without_store_ >= timeout_) throw lost_store(seen, rank_);
  if (const std::string silent = silent_ranks(seen, rank_, num_rounds_in(timeout_)); !silent.empty())
    throw silence_of(silent);
  const std::string writers =
      names_of(seen, [&](int64_t i) { return seen.signs[static_cast<size_t>(i)].writes_files; });
  const std::string behind = names_of(seen, [&](int64_t i) { return is_rank_behind(seen, i); });
  const bool is_long_work = for_ == For::kDevice && behind.empty();
  waited_ = writers.empty() && !is_long_work ? waited_ + kTurn : milliseconds(0);
  // If no rank is behind, a rank is silent or disconnected, and it takes longer to find out which.
  if (waited_ < (behind.empty() ? kTimesLonger * absence_ : absence_)) return;
  throw RankFailed(ExitCode::kDevice, fmt::format("{} responds, but did not finish its work within {} s; raise "
                                                  "distributed.timeout if it is slow, or find out what blocks it",
                                                  behind.empty() ? "another rank" : behind, waited_.count() / 1000));
}

bool Patience::is_rank_behind(const Seen& seen, int64_t rank) const {
  const Sign& sign = seen.signs[static_cast<size_t>(rank)];
  const bool gives_signs = sign.num_silent_rounds < kFewRounds;
  return rank != rank_ && (sign.has_left || (gives_signs && sign.num_operations < own_operations_));
}

RankFailed failure_after_broken_connection(Heartbeat& heartbeat, int64_t rank, const std::string& error) {
  constexpr milliseconds kLongest{3000}, kSilence{1500};
  const Seen seen = heartbeat.look_until(kLongest, [](const Seen& now) { return now.failure || now.is_store_gone; });
  if (seen.failure) return as_rank_failed(seen);
  if (seen.is_store_gone) return lost_store(seen, rank);
  if (const std::string silent = silent_ranks(seen, rank, num_rounds_in(kSilence)); !silent.empty())
    return silence_of(silent);
  const std::string gone = names_of(seen, [&](int64_t i) { return seen.signs[static_cast<size_t>(i)].has_left; });
  return {ExitCode::kDevice, fmt::format("{} lost its connection to {}: {}", name_of_rank(seen, rank),
                                         gone.empty() ? "another rank" : gone, error)};
}

}  // namespace rnnlab
