// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/run_failure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/numbers.h"
#include "base/system/machine.h"
#include "base/text.h"
#include "train/ranks/store.h"

namespace rnnlab {
namespace {

constexpr const char* kFailureKey = "failure";
constexpr const char* kReporterKey = "told";
constexpr char kEndOfFailureField = '\n';
constexpr size_t kMostBytesOfProcess = 120, kMostBytesOfMessage = 4096;

// Returns `text` as one line without control characters; further lines follow a semicolon. Messages are stored and
// compared in this form.
std::string message_line(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text.substr(0, kMostBytesOfMessage), '\n'))
    add_once(lines, on_one_line(trim(line)));
  return join(lines, "; ");
}

void wait_for_rank_0(c10d::Store& store, int64_t size) {
  constexpr std::chrono::seconds kLongest{3};
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!is_report_claimed(store, size) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
}

// Stores `text` unless the key has a value for which `is_valid` is true. Returns the value that the key has then. A
// stranger may write again and again, so this does not try for ever.
std::string put_first(c10d::Store& store, const std::string& key, const std::string& text,
                      const std::function<bool(const std::string&)>& is_valid) {
  constexpr int kMostTries = 10;
  const std::vector<uint8_t> wanted(text.begin(), text.end());
  std::vector<uint8_t> before;
  for (int i = 0; i < kMostTries; ++i) {
    const std::vector<uint8_t> bytes = store.compareSet(key, before, wanted);
    const std::string now(bytes.begin(), bytes.end());
    if (now == text || is_valid(now)) return now;
    before = bytes;
  }
  put_text(store, key, text);
  return text;
}

// A rank ends with one of the documented exit codes or because of a signal, and never with 0.
std::optional<ExitCode> parse_exit_code(const std::string& text) {
  constexpr int64_t kLastSignal = 64;
  auto code = parse_int64(text, static_cast<int64_t>(ExitCode::kInternal), static_cast<int64_t>(ExitCode::kRegression));
  const auto by_signal = static_cast<int64_t>(exit_code_of_signal(0));
  if (!code) code = parse_int64(text, by_signal + 1, by_signal + kLastSignal);
  return code ? std::optional(static_cast<ExitCode>(*code)) : std::nullopt;
}

std::optional<RankFailure> parse_failure(const std::string& text, int64_t size) {
  constexpr size_t kNumFields = 4;
  const std::vector<std::string> fields =
      split(text.substr(0, kMostBytesOfProcess + 2 * kMostBytesOfMessage), kEndOfFailureField);
  if (fields.size() != kNumFields) return std::nullopt;
  const auto rank = parse_int64(fields[0], 0, size - 1);
  const auto exit_code = parse_exit_code(fields[1]);
  if (!rank || !exit_code) return std::nullopt;
  return RankFailure{
      .rank = *rank, .exit_code = *exit_code, .message = message_line(fields[3]), .process = process_name(fields[2])};
}

// Returns the message of a report that a rank has claimed.
std::optional<std::string> parse_report(const std::string& text, int64_t size) {
  const std::vector<std::string> fields = split(text.substr(0, 2 * kMostBytesOfMessage), kEndOfFailureField);
  if (fields.size() != 2 || !parse_int64(fields[0], 0, size - 1) || fields[1].empty()) return std::nullopt;
  return message_line(fields[1]);
}

}  // namespace

std::string process_name(const std::string& text) {
  std::string name = on_one_line(text.substr(0, kMostBytesOfProcess));
  std::ranges::replace(name, '|', '_');
  return name;
}

std::string this_process() {
  const std::string host = host_name();
  return process_name(fmt::format("process {} of {}", ::getpid(), host.empty() ? "an unknown host" : host));
}

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
  if (rank != 0) wait_for_rank_0(store, size);
  const std::string own = fmt::format("{}{}{}", rank, kEndOfFailureField, message_line(message));
  return own == put_first(store, kReporterKey, own,
                          [&](const std::string& now) { return parse_report(now, size).has_value(); });
}

bool is_report_claimed(c10d::Store& store, int64_t size) {
  return parse_report(text_at(store, kReporterKey), size).has_value();
}

}  // namespace rnnlab
