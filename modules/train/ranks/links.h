// SPDX-License-Identifier: Apache-2.0
// Finds out which other ranks this process reaches, without the store of the run: each rank listens at a port of its
// own, and answers those that send its token. A rank stores its address, port and token in the store when all ranks
// have sent a heartbeat (heartbeat.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace c10d {
class Store;
}

namespace rnnlab {

enum class LinkState {
  kUnknown,       // the rank has stored no address
  kAnswers,       // the rank answers and cannot reach the store
  kReachesStore,  // the rank answers and reaches the store
  kRefuses,       // the host answers, but the rank has ended
  kSilent,        // the rank accepts a connection but does not answer, as a suspended process does
  kUnreachable    // neither the rank nor its host answers
};

inline bool answers(LinkState state) { return state == LinkState::kAnswers || state == LinkState::kReachesStore; }

// Returns whether a port of a host, by name or address, accepts a connection (kSilent), refuses it or is unreachable;
// kUnknown if the name has no address.
LinkState state_of_port(const std::string& host, int64_t port);

class Links {
 public:
  static constexpr std::chrono::milliseconds kLongestProbe{2000};

  explicit Links(int64_t rank);
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Begins to listen at this numeric address. If that is not possible, the other ranks know nothing about this rank.
  void listen(const std::string& address);

  // The text that the rank stores for the other ranks, which says nothing if it does not listen.
  std::string entry() const;

  // Takes the texts of all ranks. A text without an address counts as nothing.
  void set_entries(const std::vector<std::string>& entries);

  // Starts to answer. `reaches_store` is called by another thread.
  void serve(std::function<bool()> reaches_store);

  // Asks all ranks at once, for at most `longest`; the own state is kReachesStore.
  std::vector<LinkState> probe(std::chrono::milliseconds longest = kLongestProbe) const;

  // Returns for example "10.0.0.2:41234"; "" for a rank without an address.
  std::string address_of(int64_t rank) const;

  // Tells the other ranks that this process reports to the user why the run ends, and whether another rank has done so.
  // A suspended rank hears it when it continues.
  void announce_report() const;
  bool has_heard_report() const;

 private:
  struct Entry;
  struct Server;

  int64_t rank_;
  std::vector<Entry> entries_;
  std::unique_ptr<Server> server_;
};

// Store an entry() and read those of all ranks; "" for a rank that has stored none.
void put_entry(c10d::Store& store, int64_t rank, const std::string& entry);
std::vector<std::string> read_entries(c10d::Store& store, int64_t size);

}  // namespace rnnlab
