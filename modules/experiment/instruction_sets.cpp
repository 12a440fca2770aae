#include "experiment/instruction_sets.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/native/verbose_wrapper.h>
#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "results/file_descriptor.h"

namespace rnnlab {
namespace {

// The structure of MKL's mkl_get_version (oneMKL reference, "Service functions"), which LibTorch exports under its
// inner name. The processor's text is of the instructions that MKL uses, whatever the CPU could do.
struct MklVersion {
  int major, minor, update;
  const char *status, *build, *processor, *platform;
};

std::string mkl_instruction_set() {
  const auto detect = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "mkl_serv_cpu_detect"));
  const auto ask = reinterpret_cast<void (*)(MklVersion*)>(::dlsym(RTLD_DEFAULT, "mkl_serv_get_version"));
  if (!at::hasMKL() || detect == nullptr || ask == nullptr) return "";
  detect();
  MklVersion version{};
  ask(&version);
  return version.processor == nullptr ? "" : std::string(trim(version.processor));
}

// One operation of oneDNN, which makes it say what it is before it works.
void talk() {
  at::set_num_threads(1);  // the threads of the parent are not in this process
  torch::verbose::_mkldnn_set_verbose(1);
  at::ones({2, 2}).to_mkldnn();
  std::fflush(stdout);
}

// Until the other end closes, for five seconds at most.
std::string read_for_a_while(const FileDescriptor& reader) {
  constexpr std::chrono::seconds kPatience(5);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  std::array<char, 4096> room{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waiting{.fd = reader.number(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || uninterrupted([&] { return ::poll(&waiting, 1, static_cast<int>(left.count())); }) <= 0)
      return text;
    const ssize_t got = uninterrupted([&] { return ::read(reader.number(), room.data(), room.size()); });
    if (got <= 0) return text;
    text.append(room.data(), static_cast<size_t>(got));
  }
}

// In the copy of this process: its end is the end of the copy, whatever comes.
[[noreturn]] void work_as_copy(const FileDescriptor& output, const std::function<void()>& work) {
  ::dup2(output.number(), STDOUT_FILENO);
  try {
    work();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

// What `work` prints in a copy of this process, so that nobody sees it here; as far as it comes within seconds.
std::string output_of_a_copy(const std::function<void()>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const pid_t copy = ::fork();
  if (copy == 0) work_as_copy(writer, work);
  writer = FileDescriptor();
  if (copy < 0) return "";
  std::string text = read_for_a_while(reader);
  ::kill(copy, SIGKILL);
  uninterrupted([&] { return ::waitpid(copy, nullptr, 0); });
  return text;
}

// Its functions that tell are hidden in LibTorch; it prints them before the first operation after it was made to talk.
std::string onednn_instruction_set() { return at::hasMKLDNN() ? isa_in_verbose(output_of_a_copy(talk)) : ""; }

}  // namespace

std::string isa_in_verbose(std::string_view text) {
  constexpr std::string_view kBefore = "info,cpu,isa:";
  const size_t at = text.find(kBefore);
  return at == std::string_view::npos ? "" : std::string(trim(first_line(text.substr(at + kBefore.size()))));
}

InstructionSets instruction_sets() {
  static const InstructionSets found = {
      .aten = at::get_cpu_capability(), .onednn = onednn_instruction_set(), .mkl = mkl_instruction_set()};
  return found;
}

}  // namespace rnnlab
