// SPDX-License-Identifier: Apache-2.0
// Tests a run of three processes on three hosts, which are network namespaces with a router between them. Processes are
// killed or suspended, one or two at once, and the network is cut, drops packets in one direction, resets connections,
// loses packets, or lets only the port of the store through, at any time. All remaining processes end within the
// timeout and 15 s with the documented exit code, one line names the rank and what was not reached, and the run resumes
// to the weights of an undisturbed run. RNNLAB_NETWORK_FAULTS=150 makes it a long run; RNNLAB_SEED=n selects different
// moments. The test needs root, ip, iptables and unshare, and is skipped without them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "app/program.h"
#include "base/error.h"
#include "reliability/trained_run.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kNumHosts = 3;
// The timeout of the start is so long that it cannot hide a wait for it after the start.
constexpr milliseconds kTimeout{4000}, kStartTimeout{20'000}, kMostAfterTimeout{15'000};
constexpr int kStorePort = 29'500;
constexpr uint32_t kNumEpochs = 60;
constexpr const char* kNamedRank = "rank [0-2] of 3 \\(process [0-9]+ of host[0-2], step [0-9]+\\)";

const std::vector<std::string> kTrainOnHosts = {"train",
                                                "small.yaml",
                                                "--quiet",
                                                "training.epochs=60",
                                                "checkpoint.every_steps=20",
                                                "checkpoint.every_epochs=0",
                                                "distributed={timeout: 4, start_timeout: 20}"};

bool run_silently(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Hosts 0 to 2 with the addresses 10.77.N.1, joined by a router. Nothing outside of them is reached.
class Network {
 public:
  Network() {
    std::string command = fmt::format("ip netns add {} && ", router());
    for (int i = 0; i < kNumHosts; ++i) {
      command += fmt::format(
          "ip netns add {0} && ip link add e netns {0} type veth peer name r{2} netns {1} && "
          "ip netns exec {0} sh -c 'ip link set lo up && ip addr add 10.77.{2}.1/24 dev e && ip link set e up && ip "
          "route add default via 10.77.{2}.254' && ip netns exec {1} sh -c 'ip addr add 10.77.{2}.254/24 dev r{2} && "
          "ip "
          "link set r{2} up' && ",
          host(i), router(), i);
    }
    is_there_ = run_silently(command + fmt::format("ip netns exec {} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward && "
                                                   "iptables -L'",
                                                   router()));
  }
  ~Network() {
    for (int i = 0; i < kNumHosts; ++i) run_silently("ip netns del " + host(i));
    run_silently("ip netns del " + router());
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  bool is_there() const { return is_there_; }
  static std::string host(int i) { return fmt::format("rnnlab-{}-{}", test_process(), i); }
  static std::string address(int i) { return fmt::format("10.77.{}.1", i); }

  void on_router(const std::string& command) const {
    EXPECT_TRUE(run_silently(fmt::format("ip netns exec {} {}", router(), command))) << command;
  }
  void heal() const {
    on_router("iptables -F FORWARD");
    for (int i = 0; i < kNumHosts; ++i) on_router(fmt::format("ip link set r{} up", i));
  }

 private:
  static std::string router() { return fmt::format("rnnlab-{}-router", test_process()); }

  // The same in the processes that the test starts.
  static int test_process() {
    static const int process = ::getpid();
    return process;
  }

  bool is_there_ = false;
};

enum class Fault { kKill, kStop, kCut, kDropOneWay, kCutPair, kReset, kRejectPair, kLoss, kFirewall };

const std::map<Fault, const char*> kNamesOfFaults = {
    {Fault::kKill, "kill"},         {Fault::kStop, "stop"},           {Fault::kCut, "cut"},
    {Fault::kDropOneWay, "drop"},   {Fault::kCutPair, "cut between"}, {Fault::kReset, "reset"},
    {Fault::kRejectPair, "reject"}, {Fault::kLoss, "loss"},           {Fault::kFirewall, "firewall"}};

struct Act {
  Fault fault;
  int rank, other;  // for some faults it is between two

  std::string text() const { return fmt::format("{} {} {}", kNamesOfFaults.at(fault), rank, other); }
};

struct FaultyNetwork {
  std::vector<Act> acts;
  int64_t epoch;  // after which the faults begin; 0: at the start
  milliseconds delay;

  bool has(Fault fault) const {
    return std::ranges::any_of(acts, [&](const Act& act) { return act.fault == fault; });
  }
  bool ends(int rank) const {
    return std::ranges::any_of(acts, [&](const Act& act) {
      return (act.fault == Fault::kKill || act.fault == Fault::kStop) && act.rank == rank;
    });
  }
  std::string text() const {
    std::string all;
    for (const Act& act : acts) all += act.text() + ", ";
    return all + fmt::format("{} ms after epoch {}", delay.count(), epoch);
  }
};

// Every third case has two faults, each of which is the end of a rank or of a host's network. In every twelfth rank 0
// and its host are gone.
FaultyNetwork case_number(int64_t number, std::mt19937& random) {
  constexpr Fault kFirst[] = {Fault::kKill, Fault::kStop,  Fault::kCut,     Fault::kDropOneWay,
                              Fault::kKill, Fault::kReset, Fault::kCutPair, Fault::kFirewall,
                              Fault::kStop, Fault::kLoss,  Fault::kCut,     Fault::kRejectPair};
  constexpr Fault kSecond[] = {Fault::kKill, Fault::kStop, Fault::kCut};
  constexpr int kMostDelayAtStart = 3000, kMostDelay = 300;
  const int rank = static_cast<int>(random() % kNumHosts);
  const int other = (rank + 1 + static_cast<int>(random() % (kNumHosts - 1))) % kNumHosts;
  FaultyNetwork one{.acts = {{kFirst[static_cast<size_t>(number) % std::size(kFirst)], rank, other}},
                    .epoch = random() % 4 == 0 ? 0 : static_cast<int64_t>(1 + random() % kNumEpochs),
                    .delay = milliseconds(random())};
  one.delay %= one.epoch == 0 ? kMostDelayAtStart : kMostDelay;
  const Fault second = kSecond[random() % std::size(kSecond)];
  const Fault first = one.acts[0].fault;
  const bool is_end = first == Fault::kKill || first == Fault::kStop || first == Fault::kCut;
  if (is_end && number % 3 == 1) one.acts.push_back({second, other, rank});
  if (number % static_cast<int64_t>(std::size(kFirst)) == 4)
    one.acts = {{Fault::kKill, 0, other}, {Fault::kCut, 0, other}};
  if (first == Fault::kFirewall) {
    one.epoch = 0;
    one.delay = milliseconds(0);
  }
  return one;
}

class RunOnHosts {
 public:
  RunOnHosts(const Program& program, const Network& network) : program_(program), network_(network) {
    std::string hosts = "127.0.0.1 localhost\n";
    for (int i = 0; i < kNumHosts; ++i) hosts += fmt::format("{} host{}\n", Network::address(i), i);
    program.write("hosts", hosts);
    for (int rank = 0; rank < kNumHosts; ++rank) processes_.emplace_back(start(rank));
  }
  ~RunOnHosts() {
    for (const auto& process : processes_)
      if (process) {
        ::kill(*process, SIGKILL);
        ::waitpid(*process, nullptr, 0);
      }
  }
  RunOnHosts(const RunOnHosts&) = delete;
  RunOnHosts& operator=(const RunOnHosts&) = delete;

  void act(const Act& act) const {
    const auto drop = [&](int from, int to, const std::string& how) {
      network_.on_router(
          fmt::format("iptables -A FORWARD -s {} -d {} {}", Network::address(from), Network::address(to), how));
    };
    const std::string reject = "-p tcp -j REJECT --reject-with tcp-reset";
    switch (act.fault) {
      case Fault::kKill:
        return send(act.rank, SIGKILL);
      case Fault::kStop:
        return send(act.rank, SIGSTOP);
      case Fault::kCut:
        return network_.on_router(fmt::format("ip link set r{} down", act.rank));
      case Fault::kDropOneWay:
        return drop(act.rank, act.other, "-j DROP");
      case Fault::kCutPair:
        drop(act.rank, act.other, "-j DROP");
        return drop(act.other, act.rank, "-j DROP");
      case Fault::kReset:
        drop(act.rank, act.other, reject);
        std::this_thread::sleep_for(milliseconds(300));
        return network_.on_router("iptables -F FORWARD");
      case Fault::kRejectPair:
        drop(act.rank, act.other, reject);
        return drop(act.other, act.rank, reject);
      case Fault::kLoss:
        return network_.on_router("iptables -A FORWARD -m statistic --mode random --probability 0.3 -j DROP");
      case Fault::kFirewall:
        for (const char* end : {"--dport", "--sport"})
          network_.on_router(fmt::format("iptables -A FORWARD -p tcp {} {} -j ACCEPT", end, kStorePort));
        return network_.on_router("iptables -A FORWARD -p tcp -j DROP");
    }
  }

  // Waits for the ranks that the case does not end, for at most `longest`, and returns their exit codes.
  std::optional<std::vector<int>> exit_codes(const FaultyNetwork& of, const std::function<bool()>& may_wait) {
    std::vector<int> codes;
    const auto remain = [&](int rank) { return processes_[static_cast<size_t>(rank)] && !of.ends(rank); };
    while (may_wait()) {
      bool is_any_running = false;
      for (int rank = 0; rank < kNumHosts; ++rank) {
        if (!remain(rank)) continue;
        if (const auto code = take_end_of(rank))
          codes.push_back(*code);
        else
          is_any_running = true;
      }
      if (!is_any_running) return codes;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return std::nullopt;
  }

 private:
  int start(int rank) const {
    const int process = ::fork();
    if (process != 0) return process;
    if (::chdir(program_.folder().c_str()) != 0) ::_exit(126);
    const int log = ::open(fmt::format("rank{}.txt", rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(log, stream);
    const std::map<std::string, std::string> variables = {{"RANK", std::to_string(rank)},
                                                          {"WORLD_SIZE", std::to_string(kNumHosts)},
                                                          {"LOCAL_RANK", "0"},
                                                          {"LOCAL_WORLD_SIZE", "1"},
                                                          {"MASTER_ADDR", Network::address(0)},
                                                          {"MASTER_PORT", std::to_string(kStorePort)}};
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    const std::string script = fmt::format("hostname host{}; mount --bind hosts /etc/hosts; exec \"$0\" \"$@\"", rank);
    Words words =
        with({"ip", "netns", "exec", Network::host(rank), "unshare", "-u", "sh", "-c", script, RNNLAB_PROGRAM},
             kTrainOnHosts);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp("ip", pointers.data());
    ::_exit(127);
  }

  void send(int rank, int signal) const {
    if (const auto& process = processes_[static_cast<size_t>(rank)]) ::kill(*process, signal);
  }

  std::optional<int> take_end_of(int rank) {
    auto& process = processes_[static_cast<size_t>(rank)];
    int status = 0;
    if (::waitpid(*process, &status, WNOHANG) != *process) return std::nullopt;
    process.reset();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  const Program& program_;
  const Network& network_;
  std::vector<std::optional<int>> processes_;
};

class NetworkFaults : public ::testing::Test {
 protected:
  static TrainedRun trained_anew(const Program& program) {
    program.run(with(kTrainOnHosts, {fmt::format("devices={}", kNumHosts)}), 0);
    return read_trained_run(only_run_in(program.folder() / "runs", "small"));
  }

  std::optional<fs::path> run_folder() const { return begun_run_in(program_.folder() / "runs", "small"); }

  // A run that has not made a folder yet is trained again.
  TrainedRun resumed() const {
    const auto folder = run_folder();
    if (!folder) {
      fs::remove_all(program_.folder() / "runs");
      return trained_anew(program_);
    }
    program_.run({"train", "--quiet", "--resume", folder->string()}, 0);
    EXPECT_EQ(leftovers_in(*folder), std::vector<std::string>{});
    return read_trained_run(*folder);
  }

  std::string all_output() const {
    std::string text;
    for (int rank = 0; rank < kNumHosts; ++rank)
      text += fmt::format("-- rank {}\n{}", rank, read_text(program_.folder() / fmt::format("rank{}.txt", rank)));
    return text;
  }

  // Changes while the run makes progress.
  uintmax_t progress() const {
    std::error_code ignored;
    const auto folder = run_folder();
    const uintmax_t size = folder ? fs::file_size(*folder / "epochs.csv", ignored) : 0;
    return ignored ? 0 : size;
  }

  void wait_for_epoch(int64_t epoch) const {
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (num_epochs() < epoch && Clock::now() < end) std::this_thread::sleep_for(milliseconds(5));
  }

  int64_t num_epochs() const {
    const auto folder = run_folder();
    const std::string text = folder && fs::exists(*folder / "epochs.csv") ? read_text(*folder / "epochs.csv") : "";
    return std::ranges::count(text, '\n') - 1;
  }

  bool has_saved() const { return run_folder() && fs::exists(*run_folder() / kCheckpointsFolder); }

  // A run in which the disturbance does not matter, for example after its end, may go on.
  std::optional<std::vector<int>> exit_codes(RunOnHosts& run, const FaultyNetwork& of) {
    const bool had_begun = has_saved();
    const auto limit = (had_begun && !of.has(Fault::kFirewall) ? kTimeout : kStartTimeout) + kMostAfterTimeout;
    auto last_progress = progress();
    auto since = Clock::now();
    const auto may_wait = [&] {
      if (progress() != last_progress) {
        last_progress = progress();
        since = Clock::now();
      }
      return Clock::now() - since < limit;
    };
    const auto codes = run.exit_codes(of, may_wait);
    longest_ = std::max(longest_, std::chrono::duration_cast<milliseconds>(Clock::now() - since));
    return codes;
  }

  // The line in a warning, if it cannot be known whether rank 0 still runs and prints it.
  void expect_line_of_others(const FaultyNetwork& of, const std::string& text) const {
    const auto warnings = lines_with(text, "if rank 0 still runs");
    ASSERT_FALSE(warnings.empty()) << text;
    if (!has_saved()) return;
    EXPECT_TRUE(of.ends(0)) << text;
    EXPECT_THAT(warnings[0], ::testing::ContainsRegex(kNamedRank));
  }

  void expect_end(const std::optional<std::vector<int>>& codes, const FaultyNetwork& of) {
    const std::string text = all_output();
    ASSERT_TRUE(codes.has_value()) << "a process did not end\n" << text;
    if (std::ranges::all_of(*codes, [](int code) { return code == 0; })) {
      ++num_undisturbed_;
      return;
    }
    EXPECT_THAT(*codes, ::testing::Each(4)) << text;
    const auto errors = lines_with(text, "error:");
    if (errors.empty()) return expect_line_of_others(of, text);
    ASSERT_EQ(errors.size(), 1U) << text;
    if (!has_saved()) return;
    EXPECT_THAT(errors[0], ::testing::ContainsRegex(kNamedRank));
    if (std::getenv("RNNLAB_SHOW")) std::cout << errors[0] << "\n";
  }

  const Program program_{kSmallYaml, "small.yaml"};
  int num_undisturbed_ = 0;
  milliseconds longest_{0};
};

TEST_F(NetworkFaults, EndWithOneLineAndLoseNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make network namespaces";
  const Network network;
  if (!network.is_there()) GTEST_SKIP() << "no network namespaces with a router can be made (needs ip and iptables)";
  const int64_t count = number_from_environment("RNNLAB_NETWORK_FAULTS", 5);
  std::mt19937 random(static_cast<uint32_t>(number_from_environment("RNNLAB_SEED", 1)));
  const TrainedRun expected = trained_anew(Program(kSmallYaml, "small.yaml"));
  for (int64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const FaultyNetwork of = case_number(i, random);
    SCOPED_TRACE(fmt::format("number {}: {}", i, of.text()));
    if (std::getenv("RNNLAB_SHOW")) std::cout << i << ": " << of.text() << '\n' << std::flush;
    {
      RunOnHosts run(program_, network);
      wait_for_epoch(of.epoch);
      std::this_thread::sleep_for(of.delay);
      for (const Act& act : of.acts) run.act(act);
      expect_end(exit_codes(run, of), of);
    }
    network.heal();
    if (::testing::Test::HasFailure()) break;
    EXPECT_EQ(resumed(), expected);
    fs::remove_all(program_.folder() / "runs");
  }
  EXPECT_LT(num_undisturbed_, (count + 1) / 2);
  std::cout << count << " faults, of which " << num_undisturbed_ << " did not matter; the longest end took "
            << longest_.count() << " ms\n";
}

}  // namespace
}  // namespace rnnlab::testing
