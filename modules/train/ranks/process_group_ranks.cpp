// SPDX-License-Identifier: Apache-2.0
// The Ranks of several processes (ranks.h), which a store, gloo and a GpuGroup connect.
#include "train/ranks/ranks.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Logging.h>
#include <sys/prctl.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "train/ranks/bounded_work.h"
#include "train/ranks/end_report.h"
#include "train/ranks/heartbeat.h"
#include "train/ranks/links.h"
#include "train/ranks/nccl_group.h"
#include "train/ranks/nccl_variables.h"
#include "train/ranks/network.h"
#include "train/ranks/run_failure.h"
#include "train/ranks/store.h"
#include "train/ranks/store_connection.h"
#include "train/ranks/wait_limit.h"

namespace rnnlab {
namespace {

// The declarations in gloo_headers/ replace gloo's own headers. They match these versions of LibTorch, whose own code
// allocates objects of these sizes.
struct LibTorchSizes {
  int minor;
  size_t group, options;
};
constexpr auto kSizes =
    std::to_array<LibTorchSizes>({{11, 488, 176}, {12, 488, 176}, {13, 488, 184}, {14, 544, 184}, {15, 544, 184}});
constexpr auto kOwnSizes = std::ranges::find(kSizes, TORCH_VERSION_MINOR, &LibTorchSizes::minor);
static_assert(TORCH_VERSION_MAJOR == 2 && kOwnSizes != kSizes.end());
static_assert(sizeof(c10d::ProcessGroupGloo) == kOwnSizes->group);
static_assert(sizeof(c10d::ProcessGroupGloo::Options) == kOwnSizes->options);

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

// The rank that holds the store must stay until every other rank has left or sends no more heartbeats.
bool has_remaining_ranks(const RunStatus& status) {
  constexpr std::chrono::seconds kSilence{3};
  return !status.is_store_gone &&
         std::ranges::any_of(status.ranks.begin() + 1, status.ranks.end(), [kSilence](const RankStatus& rank) {
           return !rank.has_left && !rank.process.empty() && !is_silent(rank, kSilence);
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

// Lets this thread's short pauses between two looks at a GPU (wait_for) end in time: Linux adds 50 us to each by
// default.
void make_pauses_exact() {
  constexpr unsigned long kNanoseconds = 1;
  ::prctl(PR_SET_TIMERSLACK, kNanoseconds, 0UL, 0UL, 0UL);
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

using PossibleError = std::optional<std::string>;

template <class Work>
PossibleError error_of(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return first_line(error.what());
  }
  return std::nullopt;
}

class ProcessGroupRanks : public Ranks {
 public:
  ProcessGroupRanks(const Launch& launch, const RanksOptions& options)
      : Ranks(launch.rank, launch.size),
        timeout_(options.timeout),
        start_timeout_(options.start_timeout),
        is_one_host_(launch.is_one_host),
        interface_(options.interface),
        holds_store_(holds_store(launch)),
        needs_of_missing_ranks_(needs_of_ranks(launch)),
        store_(connect_to_store(launch, options)),
        heartbeat_(*store_, launch.rank, launch.size),
        links_(launch.rank),
        end_report_(store_, heartbeat_, links_, launch) {
    try {
      join_others(launch);
    } catch (const UserError& failure) {
      post_failure(failure.exit_code(), failure.what());
      const bool is_own = claim_report(failure.what());
      leave();
      if (is_own) throw;
      if (is_cut_off()) throw ReportedBeyondNetwork(failure.exit_code(), failure.what());
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

  void connect_gpus(const std::function<std::optional<GpuConnection>()>& asked) override {
    if (const auto connection = asked()) connect_gpus(*connection);
  }

  void connect_gpus(const GpuConnection& connection) {
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
    // A store that is suspended lets clone() wait for any time, so the thread calls it.
    const auto make = [store = store_, options] { return connected_gpus(store->clone(), options); };
    const NcclVariables variables(options, interface_);
    run_collective(start_timeout_, [&] { return start_on_thread(make); });
    variables.restore();
    gpus_->make_current();
    make_pauses_exact();
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

  bool gives_sources() const override { return gpus_ != nullptr && gpus_->gives_sources(); }
  MessageSources sources_of(const at::Tensor& message) override { return gpus_->sources_of(message); }
  void announce(const at::Tensor& message) override {
    queue_on_gpu([&] { gpus_->announce(message); });
  }
  void fetch(const at::Tensor& message) override {
    queue_on_gpu([&] { gpus_->fetch(message); });
  }
  void end_reads() override {
    queue_on_gpu([&] { gpus_->end_reads(); });
  }

  using Ranks::wait_for;
  void wait_for(const std::function<bool()>& has_ended) override {
    WaitLimit limit(heartbeat_, links_, rank(), timeout_, timeout_, heartbeat_.num_operations(),
                    WaitLimit::WaitingFor::kDevice);
    try {
      while (!has_ended_within_poll(has_ended)) {
        limit.check();
        require_working_nccl();
      }
    } catch (const RankFailed&) {
      abandon_operation();
      throw;
    } catch (const BrokenLink& broken) {
      abandon_operation();
      throw_broken_link(broken);
    } catch (const std::exception&) {  // from the GPU or NCCL
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
    heartbeat_.set_step(step);
    heartbeat_.count_operation();
  }
  void set_writing(bool writes_files) override { heartbeat_.set_writing(writes_files); }

  // The others must know that this rank has begun the last operation before it sends anything in it.
  void finish() override {
    const int64_t last_operation = heartbeat_.count_operation();
    const auto own = static_cast<size_t>(rank());
    heartbeat_.poll_until(timeout_, [&](const RunStatus& now) {
      return now.failure || is_store_silent(now) || now.ranks[own].num_operations >= last_operation;
    });
    try {
      is_true_on_all(true);
    } catch (const RankFailed&) {
      if (!has_every_rank_begun(last_operation)) throw;
    }
  }

  void post_failure(ExitCode exit_code, const std::string& message) noexcept override {
    end_report_.post_failure(exit_code, message);
  }
  bool claim_report(const std::string& message) noexcept override { return end_report_.claim(message); }
  bool is_cut_off() const override { return end_report_.is_cut_off(); }

 private:
  // Returns nothing if the store is gone: the next operation says so.
  template <class Work>
  auto ask_store(Work work) const -> std::optional<decltype(work())> {
    std::optional<decltype(work())> answer;
    error_of([&] { answer = run_within(start_timeout_, std::move(work)); });
    return answer;
  }

  // Waits until that is certain: until each rank has begun the operation, has left, has failed or is silent.
  bool has_every_rank_begun(int64_t operation) {
    const auto has_begun = [operation](const RankStatus& rank) { return rank.num_operations >= operation; };
    const auto is_settled = [&](const RankStatus& rank) {
      return has_begun(rank) || rank.has_left || is_silent(rank, timeout_);
    };
    const auto is_certain = [&](const RunStatus& now) {
      const bool has_failed_before = now.failure && !has_begun(now.ranks[static_cast<size_t>(now.failure->rank)]);
      return has_failed_before || is_store_silent(now) || std::ranges::all_of(now.ranks, is_settled);
    };
    RunStatus status = heartbeat_.poll_until(timeout_, is_certain);
    while (!is_certain(status) && std::ranges::any_of(status.ranks, &RankStatus::writes_files))
      status = heartbeat_.poll_until(timeout_, is_certain);
    return std::ranges::all_of(status.ranks, has_begun);
  }

  void leave() {
    gpus_.reset();  // no CUDA graph with its operations exists any more
    // The destructor of a group waits for unfinished operations.
    if (is_broken_) static_cast<void>(group_.release());
    group_.reset();
    if (!holds_store_) return;
    heartbeat_.poll_until(timeout_ + kReportTimeout,
                          [](const RunStatus& status) { return !has_remaining_ranks(status); });
  }

  // Returns memory only if all ranks have it. Throws UserError kDevice if they need it. A rank registers its memory
  // only after all ranks have allocated theirs, because it waits for the others meanwhile.
  std::optional<at::Tensor> registered_zeros(int64_t count) {
    at::Tensor zeros;
    registration_error_ = error_of([&] { zeros = gpus_->registrable_zeros(count); });
    const bool is_allocated = is_true_on_all(!registration_error_);
    if (is_allocated) register_memory(zeros);
    if (is_allocated && is_true_on_all(!registration_error_)) return zeros;
    if (exchange_ != ExchangeKind::kSymmetricMemory) return std::nullopt;
    throw_error(ExitCode::kDevice,
                "distributed.exchange: symmetric_memory needs GPUs of one host that read each other's memory, one for "
                "each process; use all_reduce{}",
                registration_error_ ? " (" + *registration_error_ + ")" : "");
  }

  void register_memory(const at::Tensor& zeros) {
    const auto work = [gpus = gpus_, zeros] {
      return error_of([&] {
        gpus->make_current();
        gpus->register_memory(zeros);
      });
    };
    run_collective(start_timeout_, [&] { return start_on_thread(work); });
  }

  // The other ranks learn of a broken link from this rank, and all report it in the same words.
  [[noreturn]] void throw_broken_link(const BrokenLink& broken) {
    post_failure(broken.exit_code(), broken.what());
    RunStatus status = heartbeat_.status();
    status.failure = RankFailure{rank(), broken.exit_code(), broken.what(), this_process()};
    throw as_rank_failed(status);
  }

  at::Tensor all_gather_within(const at::Tensor& values, std::chrono::milliseconds longest) {
    const at::Tensor all = memory_for_all(values);
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

  // After an error of the network between hosts, all ranks wait for each other, so none of them is behind. The reason
  // may be that another rank has ended.
  void require_working_nccl() {
    const std::string error = gpus_ == nullptr ? "" : gpus_->error();
    if (!error.empty()) throw_broken_connection(heartbeat_, links_, rank(), "NCCL: " + first_line(error));
  }

  // Call this function within a catch block: it throws this rank's own error, unless another rank has failed before.
  [[noreturn]] void fail_on_gpu() {
    abandon_operation();
    const RunStatus status = heartbeat_.status();
    if (status.failure) throw as_rank_failed(status);
    throw;
  }

  // Begins an operation and waits for its end.
  template <class Begin>
  void run_collective(std::chrono::milliseconds stall_timeout, const Begin& begin) {
    WaitLimit limit(heartbeat_, links_, rank(), timeout_, stall_timeout, heartbeat_.count_operation());
    wait_with(limit, begin);
  }

  template <class Begin>
  void wait_with(WaitLimit& limit, const Begin& begin) {
    try {
      wait_for_end(limit, begin);
    } catch (const BrokenLink& broken) {
      throw_broken_link(broken);
    }
  }

  template <class Begin>
  void wait_for_end(WaitLimit& limit, const Begin& begin) {
    try {
      auto work = begin();
      while (!has_ended(work)) limit.check();
    } catch (const UserError&) {
      abandon_operation();
      throw;
    } catch (const std::exception& error) {  // from LibTorch or gloo
      abandon_operation();
      throw_broken_connection(heartbeat_, links_, rank(), first_line(error.what()));
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
  void store_result(PossibleError error) { registration_error_ = std::move(error); }

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
    if (gpus_ == nullptr) return;
    // abort() returns only after the graphs with operations are destroyed, that is after this thread has left the
    // trainer.
    constexpr std::chrono::seconds kForKernelsToEnd{1};
    start_on_thread([gpus = gpus_] {
      gpus->abort();
      return true;
    }).wait_for(kForKernelsToEnd);
  }

  void join_others(const Launch& launch) {
    try {
      wait_for_all_ranks();  // so that all of them learn of a wrong address of one
      const std::vector<std::string> addresses = own_addresses_in_time(launch);
      links_.listen(addresses.front());
      links_.serve([this] { return !is_store_silent(heartbeat_.status()); });
      ask_store([store = store_, own = rank(), entry = links_.entry()] {
        put_entry(*store, own, entry);
        return true;
      });
      wait_for_entries();
      connect(addresses);
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& error) {
      throw_error(ExitCode::kDevice, "rank {} of {} cannot connect to the other ranks: {}", rank(), size(),
                  first_line(error.what()));
    }
  }

  // Looks up names, which may take any time.
  std::vector<std::string> own_addresses_in_time(const Launch& launch) const {
    auto found =
        run_within(start_timeout_, [launch, interface = interface_] { return own_addresses(launch, interface); });
    if (found) return *std::move(found);
    throw_error(ExitCode::kDevice,
                "rank {} of {} got no answer within {} s when it looked up {}: check the name server", rank(), size(),
                std::chrono::duration_cast<std::chrono::seconds>(start_timeout_).count(), in_quotes(launch.address));
  }

  // A rank stores its entry some time after its first heartbeat. If the store is gone, the next operation says so.
  void wait_for_entries() {
    constexpr std::chrono::milliseconds kPause{20};
    const auto end = std::chrono::steady_clock::now() + start_timeout_;
    while (std::chrono::steady_clock::now() < end) {
      const auto entries = ask_store([store = store_, all = size()] { return read_entries(*store, all); });
      if (!entries) return;
      links_.set_entries(*entries);
      const RunStatus status = heartbeat_.status();
      if (status.failure) throw as_rank_failed(status);
      if (std::ranges::find(*entries, "") == entries->end()) return;
      std::this_thread::sleep_for(kPause);
    }
  }

  // Waits until each rank has sent a heartbeat.
  void wait_for_all_ranks() {
    const auto began = std::chrono::steady_clock::now();
    const RunStatus status = heartbeat_.poll_until(start_timeout_, [](const RunStatus& now) {
      return now.failure || now.is_store_gone || missing_in(now).empty();
    });
    if (status.failure) throw as_rank_failed(status);
    if (status.is_store_gone)
      throw_error(ExitCode::kDevice, "rank {} of {} lost the store of its run: the process that holds it has ended",
                  rank(), size());
    if (is_store_silent(status))
      throw_error(
          ExitCode::kDevice,
          "rank {} of {} gets no answer from the store of its run: check whether the process that holds it, rank "
          "0 or its launcher, is suspended or its host is down",
          rank(), size());
    const std::vector<std::string> missing = missing_in(status);
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
    if (!missing.empty())
      throw_error(ExitCode::kDevice, "after {} s {} of {} processes of this run are missing: {}{}", waited.count(),
                  missing.size(), size(), join(missing, ", "), needs_of_missing_ranks_);
  }

  static std::vector<std::string> missing_in(const RunStatus& status) {
    std::vector<std::string> found;
    for (size_t i = 0; i < status.ranks.size(); ++i)
      if (status.ranks[i].process.empty()) found.push_back("rank " + std::to_string(i));
    return found;
  }

  void connect(const std::vector<std::string>& addresses) {
    auto options = c10d::ProcessGroupGloo::Options::create(start_timeout_);
    for (const std::string& address : addresses)
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    const auto make = [store = store_, own = static_cast<int>(rank()), all = static_cast<int>(size()), options] {
      return c10::make_intrusive<c10d::ProcessGroupGloo>(store->clone(), own, all, options);
    };
    run_collective(start_timeout_, [&] { return start_on_thread(make); });
  }

  std::chrono::milliseconds timeout_, start_timeout_;
  bool is_one_host_;
  std::optional<std::string> interface_;
  bool holds_store_;
  std::string needs_of_missing_ranks_;
  bool is_broken_ = false;
  StorePointer store_;
  Heartbeat heartbeat_;
  Links links_;  // its thread reads heartbeat_
  EndReport end_report_;
  GroupPointer group_;
  std::shared_ptr<GpuGroup> gpus_;  // null before connect_gpus()
  ExchangeKind exchange_ = ExchangeKind::kAuto;
  PossibleError registration_error_;  // of the last registered_zeros()
};

}  // namespace

std::unique_ptr<Ranks> connect_ranks(const Launch& launch, const RanksOptions& options) {
  silence_process_groups();
  return std::make_unique<ProcessGroupRanks>(launch, options);
}

bool claim_report_before_joining(const Launch& launch, const std::string& name_of_run,
                                 const std::optional<std::string>& interface, const UserError& failure) noexcept {
  constexpr std::chrono::seconds kLongest{3};
  try {
    silence_process_groups();
    const StorePointer store = connect_to_store(
        launch, {.timeout = kLongest, .start_timeout = kLongest, .name = name_of_run, .interface = interface});
    const auto ask = [store, rank = launch.rank, size = launch.size, exit_code = failure.exit_code(),
                      message = std::string(failure.what())] {
      put_failure(*store, {rank, exit_code, message, this_process()}, size);
      put_heartbeat(*store, rank);
      const bool is_own = claim_report(*store, rank, size, message);
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

}  // namespace rnnlab
