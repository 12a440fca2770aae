// SPDX-License-Identifier: Apache-2.0
#include "distributed/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr const char* kFailureKey = "failure";
constexpr const char* kReporterKey = "told";
constexpr char kEndOfFailureField = '\n';
constexpr char kEndOfField = '|';  // of a heartbeat
constexpr size_t kMostBytesOfProcess = 120, kMostBytesOfMessage = 4096;

// Returns `text` as one line without control characters; further lines follow a semicolon. Messages are stored and
// compared in this form.
std::string message_line(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text.substr(0, kMostBytesOfMessage), '\n'))
    add_once(lines, on_one_line(trim(line)));
  return join(lines, "; ");
}

std::string process_name(const std::string& text) {
  std::string name = on_one_line(text.substr(0, kMostBytesOfProcess));
  std::ranges::replace(name, kEndOfField, '_');
  return name;
}

void wait_for_rank_0(c10d::Store& store) {
  constexpr std::chrono::seconds kLongest{3};
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!is_report_claimed(store) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
}

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// Returns "" if the key does not exist. get() would wait for a key that somebody deletes; compareSet() returns what it
// was called with if the key does not exist.
std::string text_at(c10d::Store& store, const std::string& key) {
  static const std::vector<uint8_t> kNothing = bytes_of("(no value)");
  const std::vector<uint8_t> bytes = store.compareSet(key, kNothing, kNothing);
  return bytes == kNothing ? "" : std::string(bytes.begin(), bytes.end());
}

// Stores `text` unless the key has a value for which `is_valid` is true. Returns the value that the key has then.
std::string put_first(c10d::Store& store, const std::string& key, const std::string& text,
                      const std::function<bool(const std::string&)>& is_valid) {
  const std::vector<uint8_t> bytes = store.compareSet(key, {}, bytes_of(text));
  const std::string now(bytes.begin(), bytes.end());
  if (now == text || is_valid(now)) return now;
  store.set(key, bytes_of(text));
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::optional<int64_t> number_in(const std::string& text, int64_t least, int64_t most) {
  const auto number = parse_int64(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

// A rank ends with one of the documented exit codes or because of a signal, and never with 0.
std::optional<ExitCode> parse_exit_code(const std::string& text) {
  constexpr int64_t kLastSignal = 64;
  auto code = number_in(text, static_cast<int64_t>(ExitCode::kInternal), static_cast<int64_t>(ExitCode::kRegression));
  const auto by_signal = static_cast<int64_t>(exit_code_of_signal(0));
  if (!code) code = number_in(text, by_signal + 1, by_signal + kLastSignal);
  return code ? std::optional(static_cast<ExitCode>(*code)) : std::nullopt;
}

std::optional<RankFailure> parse_failure(const std::string& text, int64_t size) {
  constexpr size_t kNumFields = 4;
  const std::vector<std::string> fields =
      split(text.substr(0, kMostBytesOfProcess + 2 * kMostBytesOfMessage), kEndOfFailureField);
  if (fields.size() != kNumFields) return std::nullopt;
  const auto rank = number_in(fields[0], 0, size - 1);
  const auto exit_code = parse_exit_code(fields[1]);
  if (!rank || !exit_code) return std::nullopt;
  return RankFailure{
      .rank = *rank, .exit_code = *exit_code, .message = message_line(fields[3]), .process = process_name(fields[2])};
}

// Returns the message of a report that a rank has claimed.
std::optional<std::string> parse_report(const std::string& text, int64_t size) {
  const std::vector<std::string> fields = split(text.substr(0, 2 * kMostBytesOfMessage), kEndOfFailureField);
  if (fields.size() != 2 || !number_in(fields[0], 0, size - 1) || fields[1].empty()) return std::nullopt;
  return message_line(fields[1]);
}

}  // namespace

std::string this_process() { return process_name(fmt::format("process {} of {}", ::getpid(), host_name())); }

void put_failure(c10d::Store& store, const RankFailure& failure, int64_t size) {
  const std::string text =
      fmt::format("{1}{0}{2}{0}{3}{0}{4}", kEndOfFailureField, failure.rank, static_cast<int>(failure.exit_code),
                  failure.process, message_line(failure.message));
  put_first(store, kFailureKey, text, [&](const std::string& now) { return parse_failure(now, size).has_value(); });
}

std::optional<RankFailure> failure_in(c10d::Store& store, int64_t size) {
  return parse_failure(text_at(store, kFailureKey), size);
}

bool claim_report(c10d::Store& store, int64_t rank, int64_t size, const std::string& message) {
  if (rank != 0) wait_for_rank_0(store);
  const std::string own = fmt::format("{}{}{}", rank, kEndOfFailureField, message_line(message));
  return own ==
         put_first(store, kReporterKey, own, [&](const std::string& now) { return parse_report(now, size).has_value(); });
}

bool is_report_claimed(c10d::Store& store) { return !text_at(store, kReporterKey).empty(); }

namespace {

constexpr std::chrono::milliseconds kBetweenRounds{500};
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
  if (!std::all_of(numbers_from, parts.end(), [](const auto& part) { return number_in(part, 0, kMost).has_value(); }))
    return std::nullopt;
  const std::string& what = parts[1];
  if (parts[0].empty() || (what != kWrites && what != kLeft && what != kTrains)) return std::nullopt;
  return RankStatus{.process = process_name(parts[0]),
                    .num_operations = parts.size() == kMostFields ? number_in(parts[2], 0, kMost).value_or(0) : 0,
                    .writes_files = what == kWrites,
                    .has_left = what == kLeft};
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
      if (!heartbeat || now[i] == texts[i]) {
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
    store->set(keys[static_cast<size_t>(rank)], bytes_of(heartbeat));
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
  store.set(key_of_heartbeat(rank), bytes_of(fmt::format("{}{}{}", this_process(), kEndOfField, kTrains)));
}

void put_departure(c10d::Store& store, int64_t rank) {
  store.set(key_of_heartbeat(rank), bytes_of(fmt::format("{}{}{}", this_process(), kEndOfField, kLeft)));
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

namespace {

constexpr milliseconds kSilenceOfDead{1500};

bool is_other(const RunStatus& status, int64_t own_rank, int64_t rank) {
  return rank != own_rank && !status.ranks[static_cast<size_t>(rank)].has_left;
}

std::vector<int64_t> ranks_where(const RunStatus& status, const std::function<bool(int64_t)>& is_meant) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < std::ssize(status.ranks); ++i)
    if (is_meant(i)) found.push_back(i);
  return found;
}

std::string names_of(const RunStatus& status, const std::vector<int64_t>& ranks) {
  std::vector<std::string> names;
  for (const int64_t rank : ranks) names.push_back(name_of_rank(status, rank));
  return join(names, ", ");
}

std::vector<int64_t> silent_ranks(const RunStatus& status, int64_t own_rank, milliseconds time) {
  return ranks_where(status, [&](int64_t i) {
    return is_other(status, own_rank, i) && is_silent(status.ranks[static_cast<size_t>(i)], time);
  });
}

// Returns what asking a rank itself has shown, for a message.
std::string finding_of(LinkState state, const std::string& address) {
  switch (state) {
    case LinkState::kRefuses:
      return fmt::format("its host refuses connections to {}, so the process has ended or a firewall rejects them",
                         address);
    case LinkState::kSilent:
      return fmt::format("it accepts connections to {} but does not answer, so it is suspended or its host hangs",
                         address);
    case LinkState::kUnreachable:
      return fmt::format("there is no way to it at {}, so its host is down or the network is broken", address);
    case LinkState::kAnswers:
    case LinkState::kReachesStore:
      return fmt::format("it answers at {}, so its connection to the store is broken", address);
    case LinkState::kUnknown:
      break;
  }
  return "check whether it was killed or suspended, or its host is down";
}

// Call this function for ranks whose heartbeats are missing. The ranks are asked themselves why.
RankFailed silence_of(const RunStatus& status, const Links& links, const std::vector<int64_t>& ranks) {
  const std::vector<LinkState> states = links.probe();
  std::vector<std::string> findings;
  for (const int64_t rank : ranks) {
    const auto i = static_cast<size_t>(rank);
    add_once(findings, finding_of(i < states.size() ? states[i] : LinkState::kUnknown, links.address_of(rank)));
  }
  return {ExitCode::kDevice,
          fmt::format("{} does not respond, so the run ends: {}", names_of(status, ranks), join(findings, "; "))};
}

// The store may be with rank 0 or with the launcher. Ranks that do not answer explain it, unless all of them answer.
RankFailed lost_store(const RunStatus& status, const Links& links, int64_t own_rank) {
  const std::vector<LinkState> states = links.probe();
  const auto missing = ranks_where(status, [&](int64_t i) {
    const LinkState state =
        static_cast<size_t>(i) < states.size() ? states[static_cast<size_t>(i)] : LinkState::kUnknown;
    return is_other(status, own_rank, i) && state != LinkState::kUnknown && !answers(state);
  });
  std::vector<std::string> findings;
  for (const int64_t rank : missing)
    findings.push_back(fmt::format("{}: {}", name_of_rank(status, rank),
                                   finding_of(states[static_cast<size_t>(rank)], links.address_of(rank))));
  if (findings.empty())
    findings.push_back(
        fmt::format("check whether the process that holds it, rank 0 or its launcher, was killed or "
                    "suspended; rank 0 was last seen as {}",
                    name_of_rank(status, 0)));
  return {ExitCode::kDevice, fmt::format("{} cannot reach the store of its run: {}", name_of_rank(status, own_rank),
                                         join(findings, "; "))};
}

// Throws BrokenLink if a rank that sends heartbeats cannot be reached. Silence of others is a matter of the timeout.
void require_no_broken_link(const RunStatus& status, const Links& links, int64_t own_rank) {
  const std::vector<LinkState> states = links.probe();
  for (int64_t i = 0; i < std::ssize(states); ++i) {
    const LinkState state = states[static_cast<size_t>(i)];
    const bool may_have_ended = is_silent(status.ranks[static_cast<size_t>(i)], kSilenceOfDead);
    if (!is_other(status, own_rank, i) || may_have_ended || state == LinkState::kUnknown || answers(state)) continue;
    throw BrokenLink(ExitCode::kDevice,
                     fmt::format("{}{} at {}, although both reach the store: check whether a firewall or a broken "
                                 "network is between them",
                                 BrokenLink::kCannotReach, name_of_rank(status, i), links.address_of(i)));
  }
}

}  // namespace

RankFailed as_rank_failed(const RunStatus& status) {
  const RankFailure& failure = *status.failure;
  const bool is_sentence = failure.message.starts_with(BrokenLink::kCannotReach);
  return {failure.exit_code,
          fmt::format("{} {}{}", name_of_rank(status, failure.rank), is_sentence ? "" : "failed: ", failure.message)};
}

WaitLimit::WaitLimit(Heartbeat& heartbeat, const Links& links, int64_t rank, milliseconds timeout,
                     milliseconds stall_timeout, int64_t own_operations, WaitingFor waiting_for)
    : heartbeat_(heartbeat),
      links_(links),
      rank_(rank),
      timeout_(timeout),
      stall_timeout_(stall_timeout),
      own_operations_(own_operations),
      waiting_for_(waiting_for) {}

void WaitLimit::check() {
  // Another rank may find the broken link, or finish after a connection that loses packets.
  constexpr milliseconds kForOthers{5000};
  const RunStatus status = heartbeat_.status();
  if (status.failure) throw as_rank_failed(status);
  if (status.is_store_gone || status.store_silence >= timeout_) throw lost_store(status, links_, rank_);
  if (const auto silent = silent_ranks(status, rank_, timeout_); !silent.empty())
    throw silence_of(status, links_, silent);
  const auto behind = ranks_where(status, [&](int64_t i) { return is_rank_behind(status, i); });
  if (waiting_for_ == WaitingFor::kDevice && behind.empty()) return wait_for_device(status);
  const auto writers =
      ranks_where(status, [&](int64_t i) { return i != rank_ && status.ranks[static_cast<size_t>(i)].writes_files; });
  waited_ = writers.empty() ? waited_ + kPollInterval : milliseconds(0);
  if (waited_ < stall_timeout_) return;
  if (!std::exchange(has_tried_links_, true)) return require_no_broken_link(status, links_, rank_);
  if (waited_ < stall_timeout_ + kForOthers) return;
  throw RankFailed(ExitCode::kDevice, fmt::format("{} responds, but did not finish its work within {} s; raise "
                                                  "distributed.timeout if it is slow, or find out what blocks it",
                                                  behind.empty() ? "another rank" : names_of(status, behind),
                                                  stall_timeout_.count() / 1000));
}

// Work of the device may also wait for another rank, so the connections are tried from time to time.
void WaitLimit::wait_for_device(const RunStatus& status) {
  waited_ = milliseconds(0);
  worked_ += kPollInterval;
  if (worked_ < stall_timeout_) return;
  worked_ = milliseconds(0);
  require_no_broken_link(status, links_, rank_);
}

bool WaitLimit::is_rank_behind(const RunStatus& status, int64_t rank) const {
  constexpr int64_t kLiveRounds = 3;
  const RankStatus& rank_status = status.ranks[static_cast<size_t>(rank)];
  const bool sends_heartbeats = rank_status.num_silent_rounds < kLiveRounds;
  return rank != rank_ && (rank_status.has_left || (sends_heartbeats && rank_status.num_operations < own_operations_));
}

void throw_broken_connection(Heartbeat& heartbeat, const Links& links, int64_t rank, const std::string& error) {
  constexpr milliseconds kLongest{3000};
  const RunStatus status =
      heartbeat.poll_until(kLongest, [](const RunStatus& now) { return now.failure || now.is_store_gone; });
  if (status.failure) throw as_rank_failed(status);
  if (is_store_silent(status)) throw lost_store(status, links, rank);
  if (const auto silent = silent_ranks(status, rank, kSilenceOfDead); !silent.empty())
    throw silence_of(status, links, silent);
  require_no_broken_link(status, links, rank);
  const auto gone = ranks_where(status, [&](int64_t i) { return status.ranks[static_cast<size_t>(i)].has_left; });
  throw RankFailed(ExitCode::kDevice, fmt::format("{} lost its connection to {}: {}", name_of_rank(status, rank),
                                                  gone.empty() ? "another rank" : names_of(status, gone), error));
}

}  // namespace rnnlab
