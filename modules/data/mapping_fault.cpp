// SPDX-License-Identifier: Apache-2.0
#include "data/mapping_fault.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "system/signal_output.h"

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

}  // namespace rnnlab
