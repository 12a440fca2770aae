#include "distributed/rank_failure.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr const char* kFailure = "failure";
constexpr const char* kTold = "told";
constexpr char kEndOfPart = '\n';

// "x.csv: no such file", and "rank 1 of 2 failed: x.csv: no such file".
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

}  // namespace rnnlab
