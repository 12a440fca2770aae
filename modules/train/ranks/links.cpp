// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/links.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/file_descriptor.h"
#include "base/numbers.h"
#include "base/text.h"
#include "train/ranks/launch.h"
#include "train/ranks/socket.h"
#include "train/ranks/store.h"

namespace rnnlab {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kQuestion = '?', kReport = '!', kReachesStoreReply = 's', kAnswersReply = 'a';
constexpr size_t kTokenDigits = 64;
constexpr size_t kRequestBytes = 1 + kTokenDigits;
constexpr size_t kMostBytesOfEntry = 256;
constexpr const char* kNoAddress = "-";
constexpr int kWaiting = 256;

}  // namespace

struct Links::Entry {
  std::string address, token;
  int64_t port = 0;

  bool is_known() const { return port != 0; }
};

namespace {

// Reads requests of many connections at once, so that a connection without a request delays no answer.
class Connections {
 public:
  static constexpr size_t kMost = 32;
  static constexpr milliseconds kLongest{2000};  // between a connection and its request

  void add(FileDescriptor descriptor) {
    if (all_.size() == kMost) all_.erase(all_.begin());
    all_.push_back({std::move(descriptor), "", Clock::now()});
  }

  bool is_empty() const { return all_.empty(); }

  void append_to(std::vector<pollfd>& waiting) const {
    for (const One& one : all_) waiting.push_back({.fd = one.descriptor.number(), .events = POLLIN, .revents = 0});
  }

  // Calls `on_request` with each complete request and closes its connection. `waiting` is that of append_to().
  template <class OnRequest>
  void read(const pollfd* waiting, const OnRequest& on_request) {
    const auto oldest = Clock::now() - kLongest;
    std::vector<One> remaining;
    for (size_t i = 0; i < all_.size(); ++i) {
      const bool has_ended = waiting[i].revents != 0 && read_one(all_[i], on_request);
      if (!has_ended && all_[i].began > oldest) remaining.push_back(std::move(all_[i]));
    }
    all_ = std::move(remaining);
  }

 private:
  struct One {
    FileDescriptor descriptor;
    std::string text;
    Clock::time_point began;
  };

  // Returns whether the connection has ended.
  template <class OnRequest>
  static bool read_one(One& one, const OnRequest& on_request) {
    std::array<char, kRequestBytes> bytes;
    const ssize_t count = ::recv(one.descriptor.number(), bytes.data(), kRequestBytes - one.text.size(), MSG_DONTWAIT);
    if (count <= 0) return count == 0 || (errno != EAGAIN && errno != EINTR);
    one.text.append(bytes.data(), static_cast<size_t>(count));
    if (one.text.size() < kRequestBytes) return false;
    on_request(one.descriptor.number(), one.text);
    return true;
  }

  std::vector<One> all_;
};

}  // namespace

struct Links::Server {
  Socket listening;
  FileDescriptor stop{::eventfd(0, EFD_CLOEXEC)};
  std::string token = random_secret();
  std::function<bool()> reaches_store;
  std::atomic<bool> has_heard_report = false;
  std::jthread thread;

  ~Server() {
    const uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(stop.number(), &one, sizeof one);
  }

  void answer(int descriptor, const std::string& request) {
    if (request.substr(1) != token) return;
    if (request.front() == kReport) has_heard_report = true;
    if (request.front() != kQuestion) return;
    const char reply = reaches_store() ? kReachesStoreReply : kAnswersReply;
    [[maybe_unused]] const auto ignored = ::send(descriptor, &reply, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void run() {
    constexpr milliseconds kPauseAfterRefusal{20};
    Connections connections;
    for (;;) {
      std::vector<pollfd> waiting = {{.fd = stop.number(), .events = POLLIN, .revents = 0},
                                     {.fd = listening.number(), .events = POLLIN, .revents = 0}};
      const size_t num_own = waiting.size();
      connections.append_to(waiting);
      const int limit = connections.is_empty() ? -1 : static_cast<int>(Connections::kLongest.count());
      if (::poll(waiting.data(), waiting.size(), limit) < 0 && errno != EINTR) return;
      if (waiting[0].revents != 0) return;
      connections.read(waiting.data() + num_own, [this](int to, const std::string& text) { answer(to, text); });
      if (waiting[1].revents == 0) continue;
      FileDescriptor accepted(::accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (accepted.is_open())
        connections.add(std::move(accepted));
      else
        std::this_thread::sleep_for(kPauseAfterRefusal);  // for example because no descriptor is left
    }
  }
};

Links::Links(int64_t rank) : rank_(rank), server_(std::make_unique<Server>()) {}

void Links::listen(const std::string& address) {
  const std::vector<SocketAddress> own = addresses_of(address, AI_NUMERICHOST);
  if (own.empty() || !server_->stop.is_open()) return;
  Socket socket(own.front().family(), SOCK_STREAM | SOCK_NONBLOCK);
  const bool is_listening = socket.is_open() && socket.bind(own.front()) && ::listen(socket.number(), kWaiting) == 0;
  if (is_listening) server_->listening = std::move(socket);
}

Links::~Links() = default;

std::string Links::entry() const {
  if (!server_->listening.is_open()) return kNoAddress;
  const SocketAddress own = own_address_of(server_->listening.number());
  return fmt::format("{} {} {}", own.text(), own.port(), server_->token);
}

namespace {

std::string key_of_entry(int64_t rank) { return fmt::format("link/{}", rank); }

bool is_token(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kTokenDigits && std::ranges::all_of(text, is_digit);
}

}  // namespace

void Links::set_entries(const std::vector<std::string>& entries) {
  entries_.assign(entries.size(), Entry{});
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::vector<std::string> parts = split(entries[i].substr(0, kMostBytesOfEntry), ' ');
    if (parts.size() != 3 || !is_token(parts[2]) || !is_numeric_address(parts[0])) continue;
    if (const auto port = parse_int64(parts[1], 1, kLastPort)) entries_[i] = {parts[0], parts[2], *port};
  }
}

void put_entry(c10d::Store& store, int64_t rank, const std::string& entry) {
  put_text(store, key_of_entry(rank), entry);
}

std::vector<std::string> read_entries(c10d::Store& store, int64_t size) {
  std::vector<std::string> entries;
  for (int64_t rank = 0; rank < size; ++rank) entries.push_back(text_at(store, key_of_entry(rank)));
  return entries;
}

void Links::serve(std::function<bool()> reaches_store) {
  if (!server_->listening.is_open()) return;
  server_->reaches_store = std::move(reaches_store);
  server_->thread = std::jthread([server = server_.get()] { server->run(); });
}

std::string Links::address_of(int64_t rank) const {
  const auto i = static_cast<size_t>(rank);
  if (i >= entries_.size() || !entries_[i].is_known()) return "";
  const Entry& entry = entries_[i];
  const bool is_ipv6 = entry.address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", entry.address, is_ipv6 ? "]" : "", entry.port);
}

namespace {

// Sends a request to another rank, and reads its reply, without waiting.
class Attempt {
 public:
  Attempt() = default;  // an attempt that has ended
  Attempt(const std::string& host, int64_t port, std::string request) {
    const std::vector<SocketAddress> others = addresses_of(host, AI_NUMERICHOST);
    if (others.empty()) return;
    *this = Attempt(others.front().with_port(port), std::move(request));
  }
  Attempt(const SocketAddress& address, std::string request) : request_(std::move(request)) {
    socket_ = Socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK);
    if (!socket_.is_open()) return;  // this says nothing of the other side
    state_ = LinkState::kUnreachable;
    is_open_ = true;
    if (!socket_.connect(address) && errno != EINPROGRESS) fail_with(errno);
  }

  bool is_open() const { return is_open_; }
  LinkState state() const { return state_; }
  pollfd waiting() const {
    return {.fd = is_open_ ? socket_.number() : -1,
            .events = static_cast<short>(is_connected_ ? POLLIN : POLLOUT),
            .revents = 0};
  }

  void advance(short events) {
    if (!is_open_ || events == 0) return;
    if (is_connected_) return read_reply();
    if (const int error = error_of_connection(socket_.number()); error != 0) return fail_with(error);
    send_request();
  }

 private:
  void send_request() {
    is_connected_ = true;
    state_ = LinkState::kSilent;
    if (::send(socket_.number(), request_.data(), request_.size(), MSG_NOSIGNAL) < 0) fail_with(errno);
    if (request_.front() == kReport) is_open_ = false;
  }

  void read_reply() {
    char reply = 0;
    const ssize_t count = ::recv(socket_.number(), &reply, 1, 0);
    if (count < 0) return fail_with(errno);
    is_open_ = false;
    state_ = count == 0                    ? LinkState::kRefuses
             : reply == kReachesStoreReply ? LinkState::kReachesStore
                                           : LinkState::kAnswers;
  }

  void fail_with(int error) {
    if (error == EAGAIN || error == EINTR) return;
    is_open_ = false;
    const bool has_ended = error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
    state_ = has_ended ? LinkState::kRefuses : LinkState::kUnreachable;
  }

  Socket socket_;
  std::string request_;
  LinkState state_ = LinkState::kUnknown;
  bool is_open_ = false, is_connected_ = false;
};

void run_all(std::vector<Attempt>& attempts, milliseconds longest) {
  for (const auto end = Clock::now() + longest;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (left.count() <= 0 || std::ranges::none_of(attempts, &Attempt::is_open)) return;
    std::vector<pollfd> waiting;
    for (const Attempt& attempt : attempts) waiting.push_back(attempt.waiting());
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0) continue;
    for (size_t i = 0; i < attempts.size(); ++i) attempts[i].advance(waiting[i].revents);
  }
}

}  // namespace

LinkState state_of_port(const std::string& host, int64_t port) {
  std::vector<Attempt> attempts;
  for (const SocketAddress& address : addresses_of(host))
    attempts.emplace_back(address.with_port(port), std::string(1, kReport));
  run_all(attempts, Links::kLongestProbe);
  LinkState best = LinkState::kUnknown;
  for (const Attempt& attempt : attempts)
    if (best == LinkState::kUnknown || best == LinkState::kUnreachable) best = attempt.state();
  return best;
}

std::vector<LinkState> Links::probe(milliseconds longest) const {
  std::vector<Attempt> attempts;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool is_asked = static_cast<int64_t>(i) != rank_ && entry.is_known();
    attempts.push_back(is_asked ? Attempt(entry.address, entry.port, kQuestion + entry.token) : Attempt());
  }
  run_all(attempts, longest);
  std::vector<LinkState> states;
  for (const Attempt& attempt : attempts) states.push_back(attempt.state());
  if (static_cast<size_t>(rank_) < states.size()) states[static_cast<size_t>(rank_)] = LinkState::kReachesStore;
  return states;
}

void Links::announce_report() const {
  constexpr milliseconds kLongest{2500};  // a lost packet is sent again after one second
  std::vector<Attempt> attempts;
  for (size_t i = 0; i < entries_.size(); ++i)
    if (static_cast<int64_t>(i) != rank_ && entries_[i].is_known())
      attempts.emplace_back(entries_[i].address, entries_[i].port, kReport + entries_[i].token);
  run_all(attempts, kLongest);
}

bool Links::has_heard_report() const { return server_->has_heard_report; }

}  // namespace rnnlab
