#include "recurrent/onednn_log.h"

#include <ATen/native/verbose_wrapper.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "base/text.h"

namespace rnnlab {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

void flush_standard_output() {
  std::cout.flush();
  std::fflush(stdout);
}

// Standard output goes to a temporary file while this lives.
class CaughtOutput {
 public:
  // Nothing where there is no temporary file to be had.
  static std::unique_ptr<CaughtOutput> begin() {
    File file(std::tmpfile(), &std::fclose);
    const int original = ::dup(STDOUT_FILENO);
    if (original < 0) return nullptr;
    flush_standard_output();
    if (!file || ::dup2(::fileno(file.get()), STDOUT_FILENO) < 0) {
      ::close(original);
      return nullptr;
    }
    return std::unique_ptr<CaughtOutput>(new CaughtOutput(std::move(file), original));
  }

  ~CaughtOutput() { restore(); }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  std::string end() {
    restore();
    std::string text;
    std::rewind(file_.get());
    char buffer[1 << 14];
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, file_.get())) text.append(buffer, count);
    return text;
  }

 private:
  CaughtOutput(File file, int original) : file_(std::move(file)), original_(original) {}

  void restore() {
    if (original_ < 0) return;
    flush_standard_output();
    ::dup2(original_, STDOUT_FILENO);
    ::close(original_);
    original_ = -1;
  }

  File file_;
  int original_;
};

class OnednnSpeaks {
 public:
  OnednnSpeaks() { torch::verbose::_mkldnn_set_verbose(1); }
  ~OnednnSpeaks() { torch::verbose::_mkldnn_set_verbose(0); }
  OnednnSpeaks(const OnednnSpeaks&) = delete;
  OnednnSpeaks& operator=(const OnednnSpeaks&) = delete;
};

// Prints what belongs to others, also when `work` has thrown.
std::vector<OnednnCall> print_others(const std::string& caught) {
  std::string others;
  auto calls = parse_onednn_log(caught, others);
  std::fwrite(others.data(), 1, others.size(), stdout);
  std::fflush(stdout);
  return calls;
}

}  // namespace

std::vector<OnednnCall> onednn_calls_during(const std::function<void()>& work) {
  const auto output = CaughtOutput::begin();
  if (!output) {
    work();
    return {};
  }
  try {
    const OnednnSpeaks speaks;
    work();
  } catch (...) {
    print_others(output->end());
    throw;
  }
  return print_others(output->end());
}

std::vector<OnednnCall> parse_onednn_log(std::string_view log, std::string& others) {
  std::vector<OnednnCall> calls;
  while (!log.empty()) {
    const size_t line_end = std::min(log.find('\n'), log.size() - 1);
    const std::string_view line = log.substr(0, line_end + 1);
    log.remove_prefix(line.size());
    if (!line.starts_with("onednn_verbose,")) {
      others += line;
      continue;
    }
    const std::vector<std::string> fields = split(line, ',');
    const auto kind = std::find(fields.begin(), fields.end(), "rnn");
    if (std::find(fields.begin(), kind, "exec") != kind && fields.end() - kind > 2) calls.push_back({kind[1], kind[2]});
  }
  return calls;
}

}  // namespace rnnlab
