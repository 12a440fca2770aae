// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD: the clocks with which programs measure run at a quarter of their speed. A program that asks
// the kernel by a system call gets the correct time.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  constexpr long long kNanoseconds = 1'000'000'000, kSlowness = 4;
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(result);
  const long long slow = (time->tv_sec * kNanoseconds + time->tv_nsec) / kSlowness;
  time->tv_sec = slow / kNanoseconds;
  time->tv_nsec = slow % kNanoseconds;
  return static_cast<int>(result);
}
