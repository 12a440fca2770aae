// SPDX-License-Identifier: Apache-2.0
#include "predict_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>

#include "arguments.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"
#include "output.h"
#include "train/loop/stop_signal.h"

namespace rnnlab::app {
namespace {

constexpr const char* kSource = "standard input";

// Reads standard input line by line, each as soon as it is there.
class Lines {
 public:
  // Returns the next line without its end; nullopt at the end of the input, or if a signal asks the program to end.
  std::optional<std::string> next() {
    while (true) {
      if (pending_stop()) return std::nullopt;
      if (const size_t end = text_.find('\n', searched_); end != std::string::npos) return take(end, end + 1);
      if (is_at_end_) return begin_ == text_.size() ? std::nullopt : std::optional(take(text_.size(), text_.size()));
      if (text_.size() - begin_ > kLongestStreamRow)  // the stream refuses it
        return take(text_.size(), text_.size());
      searched_ = text_.size();
      read_more();
    }
  }

 private:
  std::string take(size_t end, size_t next) {
    std::string line = text_.substr(begin_, end - begin_);
    begin_ = searched_ = next;
    return line;
  }

  // A signal that arrives just before poll() is seen after the timeout.
  void read_more() {
    constexpr int kTimeoutMilliseconds = 200;
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kTimeoutMilliseconds) <= 0) return;
    text_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    std::array<char, 1 << 16> piece;
    const ssize_t size = uninterrupted([&] { return ::read(STDIN_FILENO, piece.data(), piece.size()); });
    if (size < 0) throw_system_error(kSource, "read", errno);
    text_.append(piece.data(), static_cast<size_t>(size));
    is_at_end_ = size == 0;
  }

  std::string text_;
  size_t begin_ = 0;     // of what was not returned
  size_t searched_ = 0;  // where what was not searched for a line break begins
  bool is_at_end_ = false;
};

void read_all(Stream& stream) {
  Lines lines;
  int64_t number = 0;
  while (const auto line = lines.next()) {
    stream.read_line(*line, ++number, [](std::string_view text) { print_data(text); });
    print_notes(stream.take_notes());
  }
  if (!pending_stop()) stream.end();
}

std::string note_on_state(const std::filesystem::path& file, const StreamState& state) {
  int64_t num_steps = 0;
  for (const auto& [name, one] : state.series) num_steps += one.num_steps;
  return fmt::format("{}: goes on after {} of {}", file.string(), counted(num_steps, "step"),
                     counted(std::ssize(state.series), "series"));
}

}  // namespace

std::unique_ptr<FileLock> lock_state_file(const std::filesystem::path& file) {
  require_harmless_output(file, "name an ordinary file for the state");
  if (file.empty()) return nullptr;
  auto lock = std::make_unique<FileLock>(file);
  if (!lock->warning().empty()) print_notes({lock->warning()});
  return lock;
}

ExitCode predict_stream(const TrainedModel& trained, const std::filesystem::path& file, StreamForm form) {
  StreamState before = file.empty() ? StreamState() : stream_state_in(file, trained);
  if (!before.series.empty()) print_notes({note_on_state(file, before)});
  Stream stream(trained, std::move(before), form, kSource);
  const StopSignalGuard signals({"the stream ends after the current row",
                                 file.empty() ? "" : "the rows of this call are not in the file of --state"});
  std::exception_ptr failure;
  try {
    read_all(stream);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!file.empty()) write_stream_state(file, stream.state(), trained);
  if (failure) std::rethrow_exception(failure);
  const auto stop = pending_stop();
  return stop ? stop->exit_code : ExitCode::kDone;
}

}  // namespace rnnlab::app
