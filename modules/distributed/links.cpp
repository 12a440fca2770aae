// SPDX-License-Identifier: Apache-2.0
#include "distributed/links.h"

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
#include "distributed/launch.h"
#include "distributed/socket.h"
#include "distributed/store.h"

namespace rnnlab {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kQuestion = '?', kReport = '!', kReachesStoreReply = 's', kAnswersReply = 'a';
constexpr size_t kTokenDigits = 64;
constexpr size_t kRequestBytes = 1 + kTokenDigits;
constexpr size_t kMostBytesOfEntry = 256;
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
  static constexpr size_t kMost = 256;

  void add(FileDescriptor descriptor) {
    if (all_.size() == kMost) all_.erase(all_.begin());
    all_.push_back({std::move(descriptor), ""});
  }

  void append_to(std::vector<pollfd>& waiting) const {
    for (const One& one : all_) waiting.push_back({.fd = one.descriptor.number(), .events = POLLIN, .revents = 0});
  }

  // Calls `on_request` with each complete request and closes its connection. `waiting` is that of append_to().
  template <class OnRequest>
  void read(const pollfd* waiting, const OnRequest& on_request) {
    std::vector<One> remaining;
    for (size_t i = 0; i < all_.size(); ++i)
      if (waiting[i].revents == 0 || !read_one(all_[i], on_request)) remaining.push_back(std::move(all_[i]));
    all_ = std::move(remaining);
  }

 private:
  struct One {
    FileDescriptor descriptor;
    std::string text;
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
      if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
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

Links::Links(int64_t rank, const std::string& address) : rank_(rank), server_(std::make_unique<Server>()) {
  const std::vector<SocketAddress> own = addresses_of(address, AI_NUMERICHOST);
  if (own.empty()) return;
  Socket socket(own.front().family(), SOCK_STREAM | SOCK_NONBLOCK);
  const bool is_listening = socket.is_open() && socket.bind(own.front()) && ::listen(socket.number(), kWaiting) == 0;
  if (is_listening) server_->listening = std::move(socket);
}

Links::~Links() = default;

std::string Links::entry() const {
  if (!server_->listening.is_open()) return "";
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
  Attempt(const std::string& host, int64_t port, std::string request, int flags = AI_NUMERICHOST)
      : request_(std::move(request)) {
    const std::vector<SocketAddress> others = addresses_of(host, flags);
    if (others.empty()) return;
    state_ = LinkState::kUnreachable;
    socket_ = Socket(others.front().family(), SOCK_STREAM | SOCK_NONBLOCK);
    is_open_ = socket_.is_open();
    if (is_open_ && !socket_.connect(others.front().with_port(port)) && errno != EINPROGRESS) fail_with(errno);
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
  attempts.emplace_back(host, port, std::string(1, kReport), 0);
  run_all(attempts, Links::kLongestProbe);
  return attempts.front().state();
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
