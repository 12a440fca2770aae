// SPDX-License-Identifier: Apache-2.0
// Trains one run over two hosts, which are network namespaces joined by a pair of virtual interfaces, whatever their
// /etc/hosts says of their own names. The tests need root and `ip netns`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "app/program.h"

namespace rnnlab::testing {
namespace {

using ::testing::HasSubstr;

// Shell functions: `hosts LINE` makes two hosts with this line for their own names, `ranks MASTER SETTINGS...` trains
// on both, prints their exit codes, and removes them.
constexpr const char* kHosts = R"(
a=rnnlab-$$-a b=rnnlab-$$-b
remove() { for host in $a $b; do ip netns del $host 2>/dev/null; rm -rf /etc/netns/$host; done; }
trap remove EXIT
hosts() {
  ip netns add $a && ip netns add $b && ip link add eth7 netns $a type veth peer name eth7 netns $b || exit 1
  for host in $a:1 $b:2; do
    name=${host%:*} number=${host#*:}
    ip netns exec $name sh -c "ip link set lo up; ip addr add 10.77.0.$number/24 dev eth7; ip link set eth7 up"
    mkdir -p /etc/netns/$name
    printf '127.0.0.1 localhost\n%b\n' "$1" > /etc/netns/$name/hosts
  done
}
ranks() {
  master=$1; shift
  for rank in 0 1; do
    host=$a; [ $rank = 1 ] && host=$b
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=$master MASTER_PORT=29500 \
      ip netns exec $host unshare -u sh -c 'hostname host$RANK; exec "$@"' - "$0" train small.yaml "$@" > log$rank 2>&1 &
    eval process$rank=$!
  done
  [ -n "$while_running" ] && $while_running
  wait $process0; first=$?; wait $process1; echo "$first $?"; cat log0 log1 >&2
}
)";

constexpr const char* kYaml = R"(name: small
device: cpu
data: {source: digits, num_train: 64, num_valid: 32}
model: {hidden_size: 8}
training: {epochs: 1, batch_size: 32, num_threads: 1}
distributed: {start_timeout: 30}
)";

int64_t count_of(const std::string& text, const std::string& word) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class Hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    constexpr const char* kTry =
        "ip netns add rnnlab-$$ && ip -n rnnlab-$$ link add eth7 type veth peer name eth8; ok=$?; ip netns del "
        "rnnlab-$$; exit $ok";
    if (program_.run_in_shell(kTry).exit_code != 0)
      GTEST_SKIP() << "needs network namespaces with pairs of interfaces (Debian: iproute2)";
    program_.write("small.yaml", kYaml);
  }
  ProgramResult on_hosts(const std::string& commands) const { return program_.run_in_shell(kHosts + commands); }

  const Program program_;
};

TEST_F(Hosts, TrainWithTheNamesOfDebian) {
  const ProgramResult result = on_hosts("hosts '127.0.1.1 host0 host1'; ranks 10.77.0.1");
  EXPECT_EQ(result.output, "0 0\n") << result.errors;
}

TEST_F(Hosts, TrainIfMasterAddrIsTheNameOfDebianOnRank0) {
  const ProgramResult result =
      on_hosts("hosts '127.0.1.1 host0'; echo 10.77.0.1 host0 > /etc/netns/$b/hosts; ranks host0");
  EXPECT_EQ(result.output, "0 0\n") << result.errors;
}

// The address of the loopback interface comes first, whatever the order of the lines.
TEST_F(Hosts, TrainIfMasterAddrHasAlsoTheAddressOfDebian) {
  const ProgramResult result =
      on_hosts("hosts '127.0.1.1 host0\n10.77.0.1 host0'; echo 10.77.0.1 host0 > /etc/netns/$b/hosts; ranks host0");
  EXPECT_EQ(result.output, "0 0\n") << result.errors;
}

TEST_F(Hosts, TrainIfTheirNamesDoNotResolve) {
  const ProgramResult result = on_hosts("hosts ''; ranks 10.77.0.1 distributed.interface=eth7");
  EXPECT_EQ(result.output, "0 0\n") << result.errors;
}

TEST_F(Hosts, AreToldOnceThatTheirInterfaceIsTheLoopback) {
  const ProgramResult result = on_hosts("hosts ''; ranks 10.77.0.1 distributed.interface=lo");
  EXPECT_EQ(result.output, "4 4\n");
  EXPECT_EQ(count_of(result.errors, "error:"), 1) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("distributed.interface: lo "));
}

TEST_F(Hosts, ListenOnlyWhereMasterAddrPoints) {
  const ProgramResult result = on_hosts(
      "look() { for i in $(seq 300); do ip netns exec $a ss -Hltn | grep -q :29500 && break; sleep .1; done\n"
      "  ip netns exec $a ss -Hltn | awk '{print $4}' | grep :29500; }\n"
      "while_running=look; hosts ''; ranks 10.77.0.1");
  EXPECT_EQ(result.output, "10.77.0.1:29500\n0 0\n") << result.errors;
}

}  // namespace
}  // namespace rnnlab::testing
