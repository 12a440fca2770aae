// SPDX-License-Identifier: Apache-2.0
#include "data/mapped_array.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <system_error>

#include "base/error.h"
#include "base/numbers.h"
#include "base/regular_file.h"
#include "base/system/terminal.h"

namespace rnnlab {

namespace {

// A mapping from `begin` to `end`. A signal handler reads it, so it has no pointers to memory that could be freed.
struct WatchedMapping {
  std::atomic<bool> is_taken = false;
  std::atomic<uintptr_t> begin = 0, end = 0;
  std::array<char, 1024> message{};
  size_t message_size = 0;
};

constexpr size_t kMaxMappings = 64;
std::array<WatchedMapping, kMaxMappings> watched_mappings;
struct sigaction previous_action = {};

// A signal that does not come from a watched mapping has the effect that it had before.
extern "C" void handle_mapping_fault(int number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const WatchedMapping& watched : watched_mappings) {
    if (info->si_code <= 0 || address < watched.begin || address >= watched.end) continue;
    write_from_signal_handler({watched.message.data(), watched.message_size});
    ::_exit(static_cast<int>(ExitCode::kData));
  }
  ::sigaction(number, &previous_action, nullptr);
  if (info->si_code <= 0) ::raise(number);  // sent by a process: it does not come again by itself
}

void install_handler() {
  [[maybe_unused]] static const bool is_installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = handle_mapping_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
}

}  // namespace

MappingFault::MappingFault(std::span<const std::byte> mapping, std::string_view message) {
  install_handler();
  while (slot_ < kMaxMappings && watched_mappings[slot_].is_taken.exchange(true)) ++slot_;
  if (slot_ == kMaxMappings) return;
  WatchedMapping& watched = watched_mappings[slot_];
  watched.message_size = message.copy(watched.message.data(), watched.message.size());
  watched.begin = reinterpret_cast<uintptr_t>(mapping.data());
  watched.end = watched.begin + mapping.size();
}

MappingFault::~MappingFault() {
  if (slot_ == kMaxMappings) return;
  WatchedMapping& watched = watched_mappings[slot_];
  watched.end = 0;
  watched.is_taken = false;
}

namespace {

[[noreturn]] void fail(const std::string& path, int code, const char* what, const char* advice) {
  throw_error(ExitCode::kData, "{}: {} ({}): {}", path, what, std::generic_category().message(code), advice);
}

FileDescriptor open_for_reading(const std::string& path) {
  RegularFile file(path);
  if (file.is_open()) return file.take_descriptor();
  fail(path, file.error_number(), "the file cannot be opened", "check its name and its permissions");
}

FileState file_state(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .changed_seconds = status.st_mtim.tv_sec,
          .changed_nanoseconds = status.st_mtim.tv_nsec};
}

// A file that is missing has an empty state, because the reader of the header reports it.
FileState state_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? file_state(status) : FileState{};
}

FileState state_of(const FileDescriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail(path, errno, "the file cannot be examined", "check its disk");
  return file_state(status);
}

// Returns the bytes of the elements.
int64_t require_whole(const std::string& path, const NpyLayout& layout, int64_t file_size) {
  const std::optional<int64_t> num_bytes = checked_num_bytes(layout.shape, layout.type);
  if (num_bytes && *num_bytes == file_size - layout.data_offset) return *num_bytes;
  throw_error(ExitCode::kData,
              "{}: the file has {} after its header, expected {} elements of {}: the file is damaged, fetch or write "
              "it again",
              path, counted(file_size - layout.data_offset, "byte"), format_shape(layout.shape),
              counted(element_size(layout.type), "byte"));
}

// Samples are visited in any order, and will_need() names what is read next. Advice cannot fail in a way that matters.
std::span<const std::byte> map_whole(const std::string& path, const FileDescriptor& file, size_t size) {
  void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapping == MAP_FAILED && errno == ENOMEM)
    throw_error(ExitCode::kDevice, "{}: mapping the file needs {} of addresses: raise ulimit -v", path,
                format_bytes(static_cast<int64_t>(size)));
  if (mapping == MAP_FAILED) fail(path, errno, "the file cannot be mapped", "use data.memory: resident");
  ::madvise(mapping, size, MADV_RANDOM);
  return {static_cast<const std::byte*>(mapping), size};
}

size_t page_size() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

std::string unmappable_reason(const NpyLayout& layout) {
  if (layout.is_packed) return "it is packed: unpack it with gunzip, or with unzip if it is an .npz archive";
  if (layout.is_fortran) return "it is in Fortran order: save it again with numpy.ascontiguousarray(array)";
  if (layout.is_swapped)
    return "its byte order is not that of this machine: save it again with array.astype(array.dtype.newbyteorder('='))";
  return "";
}

// The header is read through a file of its own, so the file that is mapped must have the same state.
MappedArray::MappedArray(const std::filesystem::path& path)
    : path_(path.string()), state_(state_of(path)), layout_(read_npy_layout(path)) {
  if (const std::string reason = unmappable_reason(layout_); !reason.empty())
    throw_error(ExitCode::kData, "{}: the file cannot be mapped because {}, or use data.memory: resident", path_,
                reason);
  file_ = open_for_reading(path_);
  require_unchanged();
  const int64_t num_bytes = require_whole(path_, layout_, state_.size);
  file_bytes_ = map_whole(path_, file_, static_cast<size_t>(state_.size));
  bytes_ = file_bytes_.subspan(static_cast<size_t>(layout_.data_offset), static_cast<size_t>(num_bytes));
  fault_.emplace(file_bytes_,
                 fmt::format("rnnlab: error: {}: the file cannot be read any more, because it was cut off or its disk "
                             "fails: restore the file and resume the run\n",
                             path_));
}

MappedArray::~MappedArray() {
  fault_.reset();
  ::munmap(const_cast<std::byte*>(file_bytes_.data()), file_bytes_.size());
}

// The system reads only the first part of a large request: read_ahead_kb of the disk, usually 128 KiB.
void MappedArray::will_need(size_t offset, size_t count) const {
  constexpr size_t kMaxRequest = 128 << 10;
  const size_t first = static_cast<size_t>(layout_.data_offset) + offset, end = first + count;
  for (size_t begin = first / page_size() * page_size(); begin < end; begin += kMaxRequest)
    ::madvise(const_cast<std::byte*>(&file_bytes_[begin]), std::min(kMaxRequest, end - begin), MADV_WILLNEED);
}

void MappedArray::require_unchanged() const {
  if (state_of(file_, path_) == state_) return;
  throw_error(ExitCode::kData,
              "{}: the file was changed while it was mapped: leave it alone during a run, or use data.memory: resident",
              path_);
}

}  // namespace rnnlab
