#include "results/faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace rnnlab::testing {
namespace {

struct Fault {
  int calls_left = 0;  // 0: unarmed or met
  int error_number = 0;
  FaultKind kind = FaultKind::kError;
  bool was_met = false;
};
Fault fault;

enum class Verdict { kPass, kFail, kHalf };

Verdict judge(bool is_write) {
  if (fault.calls_left == 0 || --fault.calls_left > 0) return Verdict::kPass;
  fault.was_met = true;
  if (is_write && fault.kind == FaultKind::kShortWrite) {
    fault.kind = FaultKind::kError;
    fault.calls_left = 1;
    return Verdict::kHalf;
  }
  errno = fault.error_number;
  return Verdict::kFail;
}

}  // namespace

void arm_fault(int call, int error_number, FaultKind kind) {
  fault = {.calls_left = call, .error_number = error_number, .kind = kind, .was_met = false};
}

bool disarm_fault() {
  fault.calls_left = 0;
  return fault.was_met;
}

}  // namespace rnnlab::testing

using rnnlab::testing::judge;
using rnnlab::testing::Verdict;

extern "C" {

int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int number, const void* bytes, size_t size);
int __real_fsync(int number);
int __real_rename(const char* from, const char* to);

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return judge(false) == Verdict::kFail ? -1 : __real_open(path, flags, mode);
}

ssize_t __wrap_write(int number, const void* bytes, size_t size) {
  const Verdict verdict = judge(true);
  if (verdict == Verdict::kFail) return -1;
  return __real_write(number, bytes, verdict == Verdict::kHalf ? size / 2 : size);
}

int __wrap_fsync(int number) { return judge(false) == Verdict::kFail ? -1 : __real_fsync(number); }

int __wrap_rename(const char* from, const char* to) {
  return judge(false) == Verdict::kFail ? -1 : __real_rename(from, to);
}

}  // extern "C"
