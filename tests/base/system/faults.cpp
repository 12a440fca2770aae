// SPDX-License-Identifier: Apache-2.0
#include "base/system/faults.h"

#include <dlfcn.h>
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
  if (fault.calls_left == 0) return Verdict::kPass;
  --fault.calls_left;
  if (fault.calls_left > 0) return Verdict::kPass;
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

namespace {

// The C library's function that the one here stands before.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  static const auto real = next<int(const char*, int, ...)>("open");
  return judge(false) == Verdict::kFail ? -1 : real(path, flags, mode);
}

ssize_t write(int number, const void* bytes, size_t size) {
  static const auto real = next<ssize_t(int, const void*, size_t)>("write");
  const Verdict verdict = judge(true);
  if (verdict == Verdict::kFail) return -1;
  return real(number, bytes, verdict == Verdict::kHalf ? size / 2 : size);
}

int fsync(int number) {
  static const auto real = next<int(int)>("fsync");
  return judge(false) == Verdict::kFail ? -1 : real(number);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int(const char*, const char*)>("rename");
  return judge(false) == Verdict::kFail ? -1 : real(from, to);
}

}  // extern "C"
