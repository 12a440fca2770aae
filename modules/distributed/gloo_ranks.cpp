#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "distributed/gpu_group.h"
#include "distributed/heartbeat.h"
#include "distributed/rank_failure.h"
#include "distributed/ranks.h"

namespace rnnlab {
namespace {

// gloo_headers/ stand for gloo's own, as of this version.
static_assert(TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR == 11);
static_assert(sizeof(c10d::ProcessGroupGloo) == 488 && sizeof(c10d::ProcessGroupGloo::Options) == 176);

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// A socket that listens on the loopback interface, at a port that the system chooses or at `port`.
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
  throw_error(ExitCode::kDevice, "127.0.0.1:{} cannot be listened on, where the processes of this run would meet: {}",
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
                "rank {} of {} cannot reach the store of its run at {}:{}, where all processes of the run meet: {}",
                launch.rank, launch.size, launch.address, launch.port, first_line(error.what_without_backtrace()));
  }
}

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string prefix_of(const std::string& attempt, const std::string& name) { return "rnnlab/" + attempt + "/" + name; }

// Their errors come as exceptions too, which say it in one line and with a next step.
void silence_process_groups() {
  constexpr int kFatal = 3;
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kFatal;
}

class StoreRanks : public Ranks {
 public:
  StoreRanks(const Launch& launch, const RanksOptions& options)
      : Ranks(launch.rank, launch.size),
        is_one_host_(launch.is_one_host),
        timeout_(options.timeout),
        store_(c10::make_intrusive<c10d::PrefixStore>(prefix_of(launch.attempt, options.name),
                                                      open_store(launch, options))) {
    heartbeat_.emplace(*store_, rank());
    meet(options.start_timeout);
    auto of_group = c10d::ProcessGroupGloo::Options::create(options.timeout);
    of_group->devices.push_back(launch.is_one_host ? c10d::ProcessGroupGloo::createDeviceForInterface("lo")
                                                   : c10d::ProcessGroupGloo::createDefaultDevice());
    group_ = guarded("connect to", [&] {
      return c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(rank()), static_cast<int>(size()),
                                                         of_group);
    });
  }

  ~StoreRanks() override {
    if (watch_ && !watch_->has_seen_failure()) shut_down_gpus();
  }

  std::string engine() const override { return gpus_ == nullptr ? "gloo" : "nccl"; }

  void add_up(at::Tensor& values) override {
    if (values.is_cuda()) return guarded("add up with", [&] { gpus().add_up(values); });
    std::vector<at::Tensor> tensors{values};
    guarded("add up with", [&] { return group_->allreduce(tensors)->wait(); });
  }

  void gather_into(const at::Tensor& values, const at::Tensor& all) override {
    if (values.is_cuda()) return guarded("gather from", [&] { gpus().gather(values, all); });
    std::vector<at::Tensor> input{values.contiguous()};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int64_t i = 0; i < size(); ++i) outputs[0].push_back(all[i]);
    guarded("gather from", [&] { return group_->allgather(outputs, input)->wait(); });
  }

  std::vector<std::string> gather_texts(const std::string& text) override {
    const std::string key = fmt::format("texts/{}/", num_gathered_texts_++);
    std::vector<std::string> all;
    guarded("hear from", [&] {
      store_->set(key + std::to_string(rank()), bytes_of(text));
      for (int64_t i = 0; i < size(); ++i) {
        const std::vector<uint8_t> bytes = store_->get(key + std::to_string(i));
        all.emplace_back(bytes.begin(), bytes.end());
      }
      return true;
    });
    return all;
  }

  void connect_gpus(c10::Device device, bool shares_gpu) override {
    guarded("connect the GPUs of", [&] {
      gpus_ = make_nccl_group(store_, {.device = device,
                                       .rank = rank(),
                                       .size = size(),
                                       .is_one_host = is_one_host_,
                                       .shares_gpu = shares_gpu});
    });
    watch_.emplace(*store_, rank(), size(), timeout_, [this] { gpus_->abort(); });
  }

  void throw_if_failed() override {
    if (watch_ && watch_->has_seen_failure()) throw failure_after("wait for", std::runtime_error("they have failed"));
  }

  void tell_failure(ExitCode exit_code, const std::string& message) noexcept override {
    put_failure(*store_, exit_code, fmt::format("rank {} of {} failed: {}", rank(), size(), message));
  }

 private:
  template <class Work>
  auto guarded(const char* what, const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const std::exception& error) {  // LibTorch's and gloo's
      throw failure_after(what, error);
    }
  }

  RankFailed failure_after(const char* what, const std::exception& error) {
    try {
      const std::vector<std::string> before = beats();
      if (auto failure = wait_for_failure(*store_)) return *std::move(failure);
      const std::string silent = silent_since(before);
      if (!silent.empty()) return {ExitCode::kDevice, silent};
    } catch (const std::exception&) {
      return {ExitCode::kDevice, fmt::format("rank {} of {} cannot reach the store of its run any more, so the process "
                                             "that holds it has ended, which is that of rank 0 or its launcher",
                                             rank(), size())};
    }
    return {ExitCode::kDevice,
            fmt::format("rank {} of {} cannot {} the other ranks: {}", rank(), size(), what, first_line(error.what()))};
  }

  std::vector<std::string> beats() { return beats_in(*store_, size()); }

  // Names the ranks whose heart did not beat; "" where all did.
  std::string silent_since(const std::vector<std::string>& before) {
    const std::vector<std::string> now = beats();
    std::vector<std::string> silent;
    for (int64_t i = 0; i < size(); ++i) {
      const auto place = static_cast<size_t>(i);
      if (i != rank() && now[place] == before[place])
        silent.push_back(fmt::format("rank {} of {} ({})", i, size(), process_of(now[place])));
    }
    if (silent.empty()) return "";
    return fmt::format("{} gave no sign, so the run ends: see whether it was stopped, or its host is gone",
                       join(silent, ", "));
  }

  void meet(std::chrono::milliseconds timeout) {
    const auto key = [](int64_t rank) { return "here/" + std::to_string(rank); };
    std::vector<std::string> all;
    for (int64_t i = 0; i < size(); ++i) all.push_back(key(i));
    try {
      store_->set(key(rank()), bytes_of("1"));
      store_->wait(all, timeout);
    } catch (const std::exception&) {
      throw_error(ExitCode::kDevice, "after {} s {} of {} processes of this run are missing: {}",
                  timeout.count() / 1000, missing(all).size(), size(), join(missing(all), ", "));
    }
  }

  std::vector<std::string> missing(const std::vector<std::string>& keys) {
    std::vector<std::string> found;
    for (size_t i = 0; i < keys.size(); ++i)
      if (!store_->check({keys[i]})) found.push_back("rank " + std::to_string(i));
    return found;
  }

  GpuGroup& gpus() {
    RNNLAB_INVARIANT(gpus_ != nullptr, "tensors on GPUs before the GPUs are connected");
    return *gpus_;
  }

  // What failed until now is told already.
  void shut_down_gpus() noexcept {
    try {
      gpus_->shut_down();
    } catch (const std::exception&) {
      gpus_->abort();
    }
  }

  bool is_one_host_;
  std::chrono::milliseconds timeout_;
  StorePointer store_;
  std::optional<Heartbeat> heartbeat_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  int64_t num_gathered_texts_ = 0;
  std::unique_ptr<GpuGroup> gpus_;      // null until connect_gpus()
  std::optional<FailureWatch> watch_;  // as long as there are GPUs, for no operation on them fails by itself
};

}  // namespace

at::Tensor Ranks::gather(const at::Tensor& values) {
  std::vector<int64_t> shape = values.sizes().vec();
  shape.insert(shape.begin(), size());
  const at::Tensor all = at::empty(shape, values.options());
  gather_into(values, all);
  return all;
}

void Ranks::connect_gpus(c10::Device, bool) { RNNLAB_INVARIANT(false, "ranks of an engine without GPUs"); }

bool Ranks::is_so_on_all(bool is_so) { return gather(at::full({}, is_so ? 1 : 0, at::kLong)).all().item<bool>(); }

std::unique_ptr<Ranks> make_gloo_ranks(const Launch& launch, const RanksOptions& options) {
  silence_process_groups();
  return std::make_unique<StoreRanks>(launch, options);
}

struct LocalStore::Server {
  StorePointer store;
};

LocalStore::LocalStore() : server_(std::make_unique<Server>()) {
  constexpr std::chrono::seconds kTimeout{30};
  server_->store = make_server(listen_on_loopback(0), kTimeout);
}

LocalStore::~LocalStore() = default;

void LocalStore::tell_failure(const std::string& name_of_run, ExitCode exit_code, const std::string& message) noexcept {
  c10d::PrefixStore store(prefix_of("", name_of_run), server_->store);
  put_failure(store, exit_code, message);
}

int64_t LocalStore::port() const { return static_cast<const c10d::TCPStore&>(*server_->store).getPort(); }

}  // namespace rnnlab
