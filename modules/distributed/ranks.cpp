// SPDX-License-Identifier: Apache-2.0
#include "distributed/ranks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <arpa/inet.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Logging.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "distributed/heartbeat.h"
#include "distributed/nccl_group.h"

namespace rnnlab {
namespace {

// The declarations in gloo_headers/ replace gloo's own headers; they match this version of LibTorch.
static_assert(TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR == 11);
static_assert(sizeof(c10d::ProcessGroupGloo) == 488 && sizeof(c10d::ProcessGroupGloo::Options) == 176);

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroupGloo>;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Returns a socket that listens on the loopback interface, at `port` or, if it is 0, at a port that the system chooses.
int listen_on_loopback(int64_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr int kWaiting = 1024;
  const bool is_listening = descriptor >= 0 &&
                            ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                            ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                            ::listen(descriptor, kWaiting) == 0;
  if (is_listening) return descriptor;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (error == EADDRINUSE)
    throw_error(ExitCode::kDevice,
                "127.0.0.1:{} is used by another program, but the processes of this run need it to connect: set "
                "MASTER_PORT to a free port for all of them",
                port);
  throw_error(ExitCode::kDevice, "127.0.0.1:{} cannot be opened, but the processes of this run need it to connect: {}",
              port, std::strerror(error));
}

int64_t port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

c10d::TCPStoreOptions store_options(int64_t port, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.waitWorkers = false;
  options.timeout = timeout;
  return options;
}

StorePointer make_server(int descriptor, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options = store_options(port_of(descriptor), timeout);
  options.isServer = true;
  options.masterListenFd = descriptor;
  return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

StorePointer open_store(const Launch& launch, const RanksOptions& options) {
  try {
    const bool is_server = launch.rank == 0 && !launch.launcher_hosts_store;
    if (is_server && launch.is_one_host) return make_server(listen_on_loopback(launch.port), options.start_timeout);
    c10d::TCPStoreOptions of_store = store_options(launch.port, options.start_timeout);
    of_store.isServer = is_server;
    return c10::make_intrusive<c10d::TCPStore>(launch.address, of_store);
  } catch (const c10::Error& error) {
    throw_error(ExitCode::kDevice,
                "rank {} of {} cannot reach the store of its run at {}:{}, which rank 0 or its launcher holds: {}",
                launch.rank, launch.size, launch.address, launch.port, first_line(error.what_without_backtrace()));
  }
}

std::string prefix_of(const std::string& attempt, const std::string& name) { return "rnnlab/" + attempt + "/" + name; }

StorePointer store_of_run(const Launch& launch, const RanksOptions& options) {
  return c10::make_intrusive<c10d::PrefixStore>(prefix_of(launch.attempt, options.name), open_store(launch, options));
}

bool holds_store(const Launch& launch) { return launch.rank == 0 && !launch.launcher_hosts_store; }

// Starts `work` on a new thread and returns its future result. The work may never end, because a store whose process is
// suspended does not answer; so `work` must own all that it uses.
template <class Work>
auto start_on_thread(Work work) -> std::future<decltype(work())> {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  return result;
}

std::atomic<bool> g_has_abandoned_operation = false;

// Returns the result of `work`, or nothing if the work takes longer than `limit`.
template <class Work>
auto run_within(std::chrono::milliseconds limit, Work work) -> std::optional<decltype(work())> {
  auto result = start_on_thread(std::move(work));
  if (result.wait_for(limit) == std::future_status::ready) return result.get();
  g_has_abandoned_operation = true;
  return std::nullopt;
}

constexpr std::chrono::seconds kReportTimeout{5};

// Returns store_of_run(), or throws after a time limit: a suspended process accepts connections but does not answer.
StorePointer connect_to_store(const Launch& launch, const RanksOptions& options) {
  const auto limit = options.start_timeout + kReportTimeout;
  if (auto store = run_within(limit, [launch, options] { return store_of_run(launch, options); })) return *store;
  throw_error(ExitCode::kDevice,
              "rank {} of {} gets no answer from the store of its run at {}:{}, which rank 0 or its launcher holds: "
              "check whether that process is suspended",
              launch.rank, launch.size, launch.address, launch.port);
}

// The rank that holds the store must stay until every other rank has left or sends no more heartbeats.
bool has_remaining_ranks(const RunStatus& status) {
  constexpr int64_t kSilentRounds = 6;
  return !status.is_store_gone &&
         std::ranges::any_of(status.ranks.begin() + 1, status.ranks.end(), [](const RankStatus& rank) {
           return !rank.has_left && !rank.process.empty() && rank.num_silent_rounds < kSilentRounds;
         });
}

// Waits until the other failing ranks have left the run; each sends a heartbeat when it leaves, as this rank does.
void wait_for_failing_ranks(c10d::Store& store, int64_t size, std::chrono::milliseconds longest) {
  Heartbeat(store, 0, size).poll_until(longest, [](const RunStatus& status) {
    return std::all_of(status.ranks.begin() + 1, status.ranks.end(),
                       [](const RankStatus& rank) { return rank.has_left; });
  });
}

// Switches off LibTorch's own log lines about errors, because each error is also thrown as an exception, which gives it
// in one line with a next step.
void silence_process_groups() {
  constexpr int kFatal = 3;
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kFatal;
}

// The operations themselves have practically no time limit, because WaitLimit limits the waits.
constexpr std::chrono::hours kLongestOperation{24 * 20};

std::unique_ptr<GpuGroup> connected_gpus(const StorePointer& store, const GpuGroupOptions& options) {
  try {
    return make_nccl_group(store, options);
  } catch (const std::exception& error) {
    throw_error(ExitCode::kDevice, "NCCL cannot connect the GPUs of this run: {}", first_line(error.what()));
  }
}

struct RegisteredMemory {
  std::optional<at::Tensor> zeros;
  std::string error;  // why it cannot be had
};

class ProcessGroupRanks : public Ranks {
 public:
  ProcessGroupRanks(const Launch& launch, const RanksOptions& options)
      : Ranks(launch.rank, launch.size),
        timeout_(options.timeout),
        start_timeout_(options.start_timeout),
        is_one_host_(launch.is_one_host),
        holds_store_(holds_store(launch)),
        store_(connect_to_store(launch, options)) {
    heartbeat_.emplace(*store_, rank(), size());
    try {
      wait_for_all_ranks();
      connect(launch);
    } catch (const UserError& failure) {
      post_failure(failure.exit_code(), failure.what());
      const bool is_own = claim_report(failure.what());
      leave();
      if (is_own) throw;
      throw ReportedElsewhere(failure.exit_code(), failure.what());
    }
  }

  ~ProcessGroupRanks() override { leave(); }

  void all_reduce(at::Tensor& values) override {
    if (values.is_cuda()) return queue_on_gpu([&] { gpus_->all_reduce(values); });
    std::vector<at::Tensor> tensors{values};
    c10d::AllreduceOptions options;
    options.timeout = kLongestOperation;
    run_collective(timeout_, [&] { return group_->allreduce(tensors, options); });
  }

  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    all_gather_into(values, all, timeout_);
  }

  std::string backend() const override {
    if (gpus_ == nullptr) return "gloo";
    return exchange_ == ExchangeKind::kSymmetricMemory ? "symmetric_memory" : "nccl";
  }

  void connect_gpus(const GpuConnection& connection) override {
    exchange_ = connection.exchange;
    const GpuGroupOptions options{.device = connection.device,
                                  .is_shared = connection.is_shared,
                                  .exchange = connection.exchange,
                                  .channels = connection.channels,
                                  .rank = rank(),
                                  .size = size(),
                                  .is_one_host = is_one_host_};
    // NCCL gets its own connection to the store, because a request that waits in the store would delay the failure
    // message of this rank.
    const auto make = [store = store_->clone(), options] { return connected_gpus(store, options); };
    run_collective(start_timeout_, [&] { return start_on_thread(make); });
    gpus_->make_current();
  }

  std::vector<at::Tensor> message_memory(const std::vector<int64_t>& counts,
                                         const at::TensorOptions& options) override {
    std::vector<at::Tensor> all = Ranks::message_memory(counts, options);
    if (gpus_ == nullptr || options.device().is_cpu()) return all;
    for (size_t i = 0; i < all.size(); ++i)
      if (counts[i] >= gpus_->least_registered_count())
        if (const auto registered = registered_zeros(counts[i])) all[i] = *registered;
    return all;
  }

  void wait_for(const std::function<bool()>& has_ended) override {
    WaitLimit limit(*heartbeat_, rank(), timeout_, timeout_, heartbeat_->num_operations(),
                    WaitLimit::WaitingFor::kDevice);
    try {
      while (!has_ended_within_poll(has_ended)) limit.check();
    } catch (const RankFailed&) {
      abandon_operation();
      throw;
    } catch (const std::exception&) {  // from the GPU
      fail_on_gpu();
    }
  }

  std::vector<std::string> all_gather_texts(const std::string& text) override {
    const auto longest = std::max(timeout_, start_timeout_);
    const at::Tensor sizes = all_gather_within(at::full({}, std::ssize(text), at::kLong), longest);
    const at::Tensor own = at::zeros({std::max<int64_t>(1, sizes.max().item<int64_t>())}, at::kByte);
    std::ranges::copy(text, own.mutable_data_ptr<uint8_t>());
    const at::Tensor bytes = all_gather_within(own, longest);
    std::vector<std::string> all;
    for (int64_t i = 0; i < size(); ++i) {
      const uint8_t* first = bytes[i].const_data_ptr<uint8_t>();
      all.emplace_back(first, first + sizes[i].item<int64_t>());
    }
    return all;
  }

  // A rank that does not reach its next step has counted fewer operations than the others, so it is behind.
  void set_step(int64_t step) override {
    heartbeat_->set_step(step);
    heartbeat_->count_operation();
  }
  void set_writing(bool writes_files) override { heartbeat_->set_writing(writes_files); }

  void post_failure(ExitCode exit_code, const std::string& message) noexcept override {
    try {
      run_within(kReportTimeout, [store = store_, failure = RankFailure{rank(), exit_code, message, this_process()}] {
        put_failure(*store, failure);
        return true;
      });
    } catch (const std::exception&) {  // no process is left to read the message
      return;
    }
  }

  bool claim_report(const std::string& message) noexcept override {
    try {
      if (!is_first()) wait_for_files_of_rank_0();
      const auto told = run_within(kReportTimeout, [store = store_, own = rank(), message] {
        return rnnlab::claim_report(*store, own, message);
      });
      if (told) return *told;
    } catch (const std::exception&) {  // the store is gone
      return is_lowest_live_rank();
    }
    return is_lowest_live_rank();
  }

 private:
  void leave() {
    gpus_.reset();  // no CUDA graph with its operations exists any more
    // The destructor of a group waits for unfinished operations.
    if (is_broken_) static_cast<void>(group_.release());
    group_.reset();
    if (!holds_store_) return;
    heartbeat_->poll_until(timeout_ + kReportTimeout,
                           [](const RunStatus& status) { return !has_remaining_ranks(status); });
  }

  // Returns memory only if all ranks have it. Throws UserError kDevice if they need it.
  std::optional<at::Tensor> registered_zeros(int64_t count) {
    const auto make = [gpus = gpus_, count]() -> RegisteredMemory {
      try {
        gpus->make_current();
        return {gpus->registered_zeros(count), ""};
      } catch (const std::exception& error) {  // the GPUs cannot read each other's memory
        return {std::nullopt, first_line(error.what())};
      }
    };
    run_collective(start_timeout_, [&] { return start_on_thread(make); });
    const RegisteredMemory memory = std::exchange(registered_, {});
    if (is_true_on_all(memory.zeros.has_value())) return memory.zeros;
    if (exchange_ != ExchangeKind::kSymmetricMemory) return std::nullopt;
    throw_error(ExitCode::kDevice,
                "distributed.exchange: symmetric_memory needs GPUs of one host that read each other's memory, one for "
                "each process; use all_reduce{}",
                memory.error.empty() ? "" : " (" + memory.error + ")");
  }

  // A launcher may kill the first rank as soon as another rank has ended.
  void wait_for_files_of_rank_0() {
    constexpr int64_t kSilentRounds = 4;
    heartbeat_->poll_until(kLongestOperation, [](const RunStatus& status) {
      const RankStatus& first = status.ranks.front();
      return status.is_store_gone || !first.writes_files || first.num_silent_rounds >= kSilentRounds;
    });
  }

  // Returns whether this is the first living rank after rank 0, by the heartbeats before the store stopped answering;
  // rank 0 may have held the store.
  bool is_lowest_live_rank() const {
    constexpr int64_t kSilentRounds = 4;
    const RunStatus status = heartbeat_->status();
    for (size_t i = 1; i < static_cast<size_t>(rank()); ++i)
      if (!status.ranks[i].has_left && status.ranks[i].num_silent_rounds < kSilentRounds) return false;
    return true;
  }

  at::Tensor all_gather_within(const at::Tensor& values, std::chrono::milliseconds longest) {
    const at::Tensor all = empty_for_all(values);
    all_gather_into(values, all, longest);
    return all;
  }

  void all_gather_into(const at::Tensor& values, const at::Tensor& all, std::chrono::milliseconds longest) {
    if (values.is_cuda()) return queue_on_gpu([&] { gpus_->all_gather_into(values, all); });
    std::vector<at::Tensor> input{values.contiguous()};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int64_t i = 0; i < size(); ++i) outputs[0].push_back(all[i]);
    c10d::AllgatherOptions options;
    options.timeout = kLongestOperation;
    run_collective(longest, [&] { return group_->allgather(outputs, input, options); });
  }

  // Runs an operation on GPUs, which fails here only if it cannot be queued.
  template <class Queue>
  void queue_on_gpu(const Queue& queue) {
    RNNLAB_INVARIANT(gpus_ != nullptr, "connect_gpus() must be called before tensors on GPUs are exchanged");
    try {
      queue();
    } catch (const std::exception&) {  // from LibTorch or NCCL
      if (gpus_->is_capturing()) throw;
      fail_on_gpu();
    }
  }

  // Call this function within a catch block: it throws this rank's own error, unless another rank has failed before.
  [[noreturn]] void fail_on_gpu() {
    abandon_operation();
    const RunStatus status = heartbeat_->status();
    if (status.failure) throw as_rank_failed(status);
    throw;
  }

  // Begins an operation and waits for its end.
  template <class Begin>
  void run_collective(std::chrono::milliseconds stall_timeout, const Begin& begin) {
    WaitLimit limit(*heartbeat_, rank(), timeout_, stall_timeout, heartbeat_->count_operation());
    wait_with(limit, begin);
  }

  template <class Begin>
  void wait_with(WaitLimit& limit, const Begin& begin) {
    try {
      auto work = begin();
      while (!has_ended(work)) limit.check();
    } catch (const UserError&) {
      abandon_operation();
      throw;
    } catch (const std::exception& error) {  // from LibTorch or gloo
      abandon_operation();
      throw failure_after_broken_connection(*heartbeat_, rank(), first_line(error.what()));
    }
  }

  // Returns whether the operation has ended within kPollInterval. Throws the exception of the operation.
  static bool has_ended(const c10::intrusive_ptr<c10d::Work>& work) {
    try {
      work->wait(WaitLimit::kPollInterval);
      return true;
    } catch (const std::exception&) {
      if (!work->isCompleted()) return false;
    }
    work->wait();
    return true;
  }
  template <class Result>
  bool has_ended(std::future<Result>& result) {
    if (result.wait_for(WaitLimit::kPollInterval) != std::future_status::ready) return false;
    store_result(result.get());
    return true;
  }
  void store_result(GroupPointer group) { group_ = std::move(group); }
  void store_result(std::unique_ptr<GpuGroup> gpus) { gpus_ = std::move(gpus); }
  void store_result(RegisteredMemory memory) { registered_ = std::move(memory); }

  static bool has_ended_within_poll(const std::function<bool()>& has_ended) {
    constexpr std::chrono::microseconds kPause{20};
    const auto end = std::chrono::steady_clock::now() + WaitLimit::kPollInterval;
    while (!has_ended()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(kPause);
    }
    return true;
  }

  void abandon_operation() {
    is_broken_ = true;
    g_has_abandoned_operation = true;
    if (gpus_ == nullptr) return;
    // abort() returns only after the graphs with operations are destroyed, that is after this thread has left the
    // trainer.
    constexpr std::chrono::seconds kForKernelsToEnd{1};
    start_on_thread([gpus = gpus_] {
      gpus->abort();
      return true;
    }).wait_for(kForKernelsToEnd);
  }

  // Waits until each rank has sent a heartbeat.
  void wait_for_all_ranks() {
    const auto began = std::chrono::steady_clock::now();
    const RunStatus status = heartbeat_->poll_until(start_timeout_, [](const RunStatus& now) {
      return now.failure || now.is_store_gone || missing_in(now).empty();
    });
    if (status.failure) throw as_rank_failed(status);
    const std::vector<std::string> missing = missing_in(status);
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
    if (!missing.empty())
      throw_error(ExitCode::kDevice, "after {} s {} of {} processes of this run are missing: {}", waited.count(),
                  missing.size(), size(), join(missing, ", "));
  }

  static std::vector<std::string> missing_in(const RunStatus& status) {
    std::vector<std::string> found;
    for (size_t i = 0; i < status.ranks.size(); ++i)
      if (status.ranks[i].process.empty()) found.push_back("rank " + std::to_string(i));
    return found;
  }

  void connect(const Launch& launch) {
    auto options = c10d::ProcessGroupGloo::Options::create(start_timeout_);
    options->devices.push_back(launch.is_one_host ? c10d::ProcessGroupGloo::createDeviceForInterface("lo")
                                                  : c10d::ProcessGroupGloo::createDefaultDevice());
    const auto make = [store = store_->clone(), own = static_cast<int>(rank()), all = static_cast<int>(size()),
                       options] { return c10::make_intrusive<c10d::ProcessGroupGloo>(store, own, all, options); };
    run_collective(start_timeout_, [&] { return start_on_thread(make); });
  }

  std::chrono::milliseconds timeout_, start_timeout_;
  bool is_one_host_;
  bool holds_store_;
  bool is_broken_ = false;
  StorePointer store_;
  std::optional<Heartbeat> heartbeat_;
  GroupPointer group_;
  std::shared_ptr<GpuGroup> gpus_;  // null before connect_gpus()
  ExchangeKind exchange_ = ExchangeKind::kAuto;
  RegisteredMemory registered_;  // while registered_zeros() runs
};

}  // namespace

at::Tensor Ranks::all_gather(const at::Tensor& values) {
  const at::Tensor all = empty_for_all(values);
  all_gather_into(values, all);
  return all;
}

at::Tensor Ranks::empty_for_all(const at::Tensor& values) const {
  std::vector<int64_t> shape = values.sizes().vec();
  shape.insert(shape.begin(), size());
  return at::empty(shape, values.options());
}

bool Ranks::is_true_on_all(bool condition) {
  return all_gather(at::full({}, condition ? 1 : 0, at::kLong)).all().item<bool>();
}

void Ranks::wait_for(const std::function<bool()>& has_ended) {
  while (!has_ended()) std::this_thread::yield();
}

void Ranks::wait_for(c10::Device device) {
  if (device.is_cpu()) return;
  c10::Event end(device.type());
  end.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  wait_for([&] { return end.query(); });
}

std::vector<at::Tensor> Ranks::message_memory(const std::vector<int64_t>& counts, const at::TensorOptions& options) {
  std::vector<at::Tensor> all;
  for (const int64_t count : counts) all.push_back(at::zeros({count}, options));
  return all;
}

void Ranks::connect_gpus(const GpuConnection&) {
  RNNLAB_INVARIANT(false, "this implementation of Ranks does not support GPUs");
}

std::unique_ptr<Ranks> connect_ranks(const Launch& launch, const RanksOptions& options) {
  silence_process_groups();
  return std::make_unique<ProcessGroupRanks>(launch, options);
}

bool claim_report_before_joining(const Launch& launch, const std::string& name_of_run,
                                 const UserError& failure) noexcept {
  constexpr std::chrono::seconds kLongest{3};
  try {
    silence_process_groups();
    const StorePointer store =
        connect_to_store(launch, {.timeout = kLongest, .start_timeout = kLongest, .name = name_of_run});
    const auto ask = [store, rank = launch.rank, exit_code = failure.exit_code(),
                      message = std::string(failure.what())] {
      put_failure(*store, {rank, exit_code, message, this_process()});
      put_heartbeat(*store, rank);
      const bool is_own = claim_report(*store, rank, message);
      put_departure(*store, rank);
      return is_own;
    };
    const bool is_own = run_within(kReportTimeout, ask).value_or(true);
    if (holds_store(launch)) wait_for_failing_ranks(*store, launch.size, kLongest);
    return is_own;
  } catch (const std::exception&) {
    return true;
  }
}

bool has_abandoned_operation() { return g_has_abandoned_operation; }

struct LocalStore::Server {
  StorePointer store;
};

LocalStore::LocalStore() : server_(std::make_unique<Server>()) {
  constexpr std::chrono::seconds kTimeout{30};
  server_->store = make_server(listen_on_loopback(0), kTimeout);
}

LocalStore::~LocalStore() = default;

void LocalStore::post_failure(const std::string& name_of_run, int64_t rank, ExitCode exit_code,
                              const std::string& message) noexcept {
  try {
    c10d::PrefixStore store(prefix_of("", name_of_run), server_->store);
    put_failure(store, {.rank = rank, .exit_code = exit_code, .message = message, .process = ""});
  } catch (const std::exception&) {  // no process is left to read the message
    return;
  }
}

int64_t LocalStore::port() const { return static_cast<const c10d::TCPStore&>(*server_->store).getPort(); }

}  // namespace rnnlab
