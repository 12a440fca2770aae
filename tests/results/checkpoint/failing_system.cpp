// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD before the C library. It makes one system call that changes files fail, or all calls from
// one on.
//   RNNLAB_FAIL_CALL=n     the n-th call fails, from 1; RNNLAB_FAIL_LOG then has the file as "FAILED name path"
//   RNNLAB_FAIL_HOW=ENOSPC, EIO, EINTR, or SHORT: a write of half the bytes, after which no call fails
//   RNNLAB_FAIL_LASTING=1  all later calls fail, too
//   RNNLAB_FAIL_BELOW=path only calls on files in this folder count
//   RNNLAB_NO_LOCKS=1      the file system has no locks: each flock fails, and none counts as a call
//   RNNLAB_MOST_THREADS=n  at most n threads at once besides the first one: the next fails, as beyond RLIMIT_NPROC
//   RNNLAB_LAST_THREAD=n   no thread can be created after the n-th
//   RNNLAB_FAIL_LOG=path   has a line for every call that counts: "open /a/b", "fsync /a/b"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

int error_number() {
  const std::string how = variable("RNNLAB_FAIL_HOW");
  if (how == "ENOSPC") return ENOSPC;
  if (how == "EIO") return EIO;
  return EINTR;
}

void note(const std::string& line) {
  const std::string path = variable("RNNLAB_FAIL_LOG");
  if (path.empty()) return;
  const long file = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::syscall(SYS_write, file, line.data(), line.size());
  ::syscall(SYS_close, file);
}

enum class Verdict { kPass, kFail, kShort };

bool counts(const std::string& path) {
  const std::string folder = variable("RNNLAB_FAIL_BELOW");
  return folder.empty() || path.starts_with(folder + "/");
}

Verdict judge(const std::string& name, const std::string& path) {
  if (!counts(path)) return Verdict::kPass;
  static std::atomic<int> num_calls = 0;
  const int call = ++num_calls;
  const std::string wanted = variable("RNNLAB_FAIL_CALL");
  const int first = wanted.empty() ? 0 : ::atoi(wanted.c_str());
  const bool is_met = first > 0 && (call == first || (call > first && variable("RNNLAB_FAIL_LASTING") == "1"));
  note((is_met ? "FAILED " : "") + name + " " + path + "\n");
  if (!is_met) return Verdict::kPass;
  if (variable("RNNLAB_FAIL_HOW") == "SHORT") return name == "write" ? Verdict::kShort : Verdict::kPass;
  errno = error_number();
  return Verdict::kFail;
}

bool fails(const char* name, const char* path) { return judge(name, path) == Verdict::kFail; }

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::string path_of(int number) {
  char path[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(number)).c_str(), path, sizeof path);
  return {path, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// Returns the path of a name relative to the descriptor of a folder.
std::string path_in(int folder, const char* path) {
  if (folder == AT_FDCWD || path[0] == '/') return path;
  return path_of(folder) + "/" + path;
}

using Open = int (*)(const char*, int, ...);
using OpenAt = int (*)(int, const char*, int, ...);

mode_t mode_of(int flags, va_list arguments) { return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0; }

struct Thread {
  void* (*work)(void*);
  void* argument;
};

std::atomic<int> num_threads = 0;

int limit(const char* name) {
  const std::string number = variable(name);
  return number.empty() ? INT_MAX : ::atoi(number.c_str());
}

void* run_thread(void* pointer) {
  const Thread thread = *std::unique_ptr<Thread>(static_cast<Thread*>(pointer));
  void* result = thread.work(thread.argument);
  --num_threads;
  return result;
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static std::atomic<int> num_made = 0;
  const auto create = next<Create>("pthread_create");
  if (++num_threads > limit("RNNLAB_MOST_THREADS") || ++num_made > limit("RNNLAB_LAST_THREAD")) {
    --num_threads;
    return EAGAIN;
  }
  auto thread = std::make_unique<Thread>(Thread{work, argument});
  const int failure = create(id, attributes, run_thread, thread.get());
  if (failure != 0) {
    --num_threads;
    return failure;
  }
  [[maybe_unused]] const Thread* const given = thread.release();  // run_thread deletes it
  return 0;
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails("open", path) ? -1 : next<Open>("open")(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails("openat", path_in(folder, path).c_str()) ? -1 : next<OpenAt>("openat")(folder, path, flags, mode);
}

ssize_t write(int number, const void* bytes, size_t size) {
  const Verdict verdict = judge("write", path_of(number));
  if (verdict == Verdict::kFail) return -1;
  const size_t part = verdict == Verdict::kShort ? std::max<size_t>(size / 2, std::min<size_t>(size, 1)) : size;
  return next<ssize_t (*)(int, const void*, size_t)>("write")(number, bytes, part);
}

int flock(int number, int operation) {
  if (variable("RNNLAB_NO_LOCKS") != "1") return next<int (*)(int, int)>("flock")(number, operation);
  errno = ENOLCK;
  return -1;
}

int fsync(int number) { return fails("fsync", path_of(number).c_str()) ? -1 : next<int (*)(int)>("fsync")(number); }

int rename(const char* from, const char* to) {
  return fails("rename", to) ? -1 : next<int (*)(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (fails("renameat2", to)) return -1;
  return next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to,
                                                                                  flags);
}

int unlink(const char* path) { return fails("unlink", path) ? -1 : next<int (*)(const char*)>("unlink")(path); }

int unlinkat(int folder, const char* path, int flags) {
  return fails("unlinkat", path_in(folder, path).c_str())
             ? -1
             : next<int (*)(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int rmdir(const char* path) { return fails("rmdir", path) ? -1 : next<int (*)(const char*)>("rmdir")(path); }

int mkdir(const char* path, mode_t mode) {
  return fails("mkdir", path) ? -1 : next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
