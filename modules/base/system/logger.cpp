// SPDX-License-Identifier: Apache-2.0
#include "base/system/logger.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/system/files.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// spdlog's own file sink only prints a line when a write fails. This sink keeps the failure and does not write again.
class CheckedFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CheckedFileSink(const std::filesystem::path& path) : file_(path) {
    constexpr auto kUtc = spdlog::pattern_time_type::utc;
    formatter_ = std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %-7l %v", kUtc);
  }

  void check() {
    const std::lock_guard lock(mutex_);
    if (failure_) throw UserError(*failure_);
  }
  void finish() {
    check();
    file_.sync();
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (failure_) return;
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    try {
      file_.append({line.data(), line.size()});
    } catch (const UserError& failure) {
      failure_ = failure;
    }
  }
  void flush_() override {}  // every line is written at once

 private:
  AppendFile file_;
  std::optional<UserError> failure_;
};

// Wraps a line such as "data      csv from a.csv: ...", or a note below it, at words; the next lines have its indent.
std::string wrap_described(std::string_view line, size_t width) {
  constexpr size_t kIndent = 10;
  const bool is_described = line.size() > kIndent && line[0] != '=' && line[kIndent - 1] == ' ' && line[kIndent] != ' ';
  if (!is_described || width <= 2 * kIndent || display_width(line) <= width) return std::string(line);
  const std::string between = "\n" + std::string(kIndent, ' ');
  return std::string(line.substr(0, kIndent)) + join(wrap(line.substr(kIndent), width - kIndent), between);
}

spdlog::color_mode colors_of(const Terminal& console) {
  return console.has_color ? spdlog::color_mode::always : spdlog::color_mode::never;
}

// Prints information unchanged, but wrapped on a terminal, and warnings and errors with the program's name and their
// level in front; clears the progress bar first.
class ConsoleSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ConsoleSink(const Terminal& console)
      : console_(console), plain_(colors_of(console)), marked_(colors_of(console)) {
    plain_.set_pattern("%v");
    marked_.set_pattern("%^%n: %l: %v%$");  // the same form as in main
  }
  void set_before_line(std::function<void()> before_line) {
    const std::lock_guard lock(mutex_);
    before_line_ = std::move(before_line);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (before_line_) before_line_();
    if (message.level >= spdlog::level::warn) return marked_.log(message);
    spdlog::details::log_msg shown = message;
    const std::string text = shown_text({message.payload.data(), message.payload.size()});
    shown.payload = text;
    plain_.log(shown);
  }
  void flush_() override { plain_.flush(); }

 private:
  std::string shown_text(std::string_view line) const {
    return console_.is_terminal ? wrap_described(line, console_.width) : std::string(line);
  }

  const Terminal console_;
  spdlog::sinks::ansicolor_stderr_sink_st plain_;
  spdlog::sinks::ansicolor_stderr_sink_st marked_;
  std::function<void()> before_line_;
};

spdlog::level::level_enum console_level(Verbosity verbosity) {
  if (verbosity == Verbosity::kErrors) return spdlog::level::err;
  if (verbosity == Verbosity::kQuiet) return spdlog::level::warn;
  return verbosity == Verbosity::kNormal ? spdlog::level::info : spdlog::level::debug;
}

}  // namespace

class Logger::Impl {
 public:
  Impl(Verbosity verbosity, const Terminal& console)
      : console_(std::make_shared<ConsoleSink>(console)), logger_("rnnlab", console_) {
    console_->set_level(console_level(verbosity));
    logger_.set_level(spdlog::level::debug);
  }

  // A line may contain text from files, so it is escaped.
  void log(spdlog::level::level_enum level, std::string_view line) {
    const std::string shown = for_display(line);
    logger_.log(level, spdlog::string_view_t(shown));
  }

  void log_in_file(spdlog::level::level_enum level, std::string_view line) {
    if (!file_) return;
    const std::string shown = for_display(line);
    file_->log(spdlog::details::log_msg(logger_.name(), level, spdlog::string_view_t(shown)));
  }

  void open_file(const std::filesystem::path& path) {
    close_file();
    file_ = std::make_shared<CheckedFileSink>(path);
    logger_.sinks().push_back(file_);
  }

  void check() {
    if (file_) file_->check();
  }

  void close_file() {
    if (!file_) return;
    const auto file = std::exchange(file_, nullptr);
    std::erase(logger_.sinks(), file);
    file->finish();
  }

  void abandon_file() {
    try {
      close_file();
    } catch (const UserError&) {
      // The error is ignored, because the run has failed already.
    }
  }

  void set_before_line(std::function<void()> before_line) { console_->set_before_line(std::move(before_line)); }

 private:
  std::shared_ptr<ConsoleSink> console_;
  std::shared_ptr<CheckedFileSink> file_;
  spdlog::logger logger_;
};

Logger::Logger(Verbosity verbosity, const Terminal& console) : impl_(std::make_unique<Impl>(verbosity, console)) {}
Logger::~Logger() = default;

void Logger::detail(std::string_view line) { impl_->log(spdlog::level::debug, line); }
void Logger::info(std::string_view line) { impl_->log(spdlog::level::info, line); }
void Logger::warn(std::string_view line) { impl_->log(spdlog::level::warn, line); }
void Logger::warn_in_file(std::string_view line) { impl_->log_in_file(spdlog::level::warn, line); }
void Logger::error(std::string_view line) { impl_->log(spdlog::level::err, line); }

void Logger::open_file(const std::filesystem::path& path) { impl_->open_file(path); }
void Logger::check() { impl_->check(); }
void Logger::close_file() { impl_->close_file(); }
void Logger::abandon_file() { impl_->abandon_file(); }
void Logger::set_before_line(std::function<void()> before_line) { impl_->set_before_line(std::move(before_line)); }

}  // namespace rnnlab
