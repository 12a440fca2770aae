#include "results/process_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Whether `holds` in a process of its own, which may change itself.
bool in_a_copy(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ProcessFacts, HaveTheNiceValue) {
  EXPECT_TRUE(in_a_copy([] { return ::setpriority(PRIO_PROCESS, 0, 19) == 0 && process_facts().nice == 19; }));
}

TEST(ProcessFacts, TellFixedAddresses) {
  const bool is_allowed = in_a_copy([] { return ::personality(ADDR_NO_RANDOMIZE) != -1; });
  if (!is_allowed) GTEST_SKIP() << "this container refuses personality()";
  EXPECT_TRUE(
      in_a_copy([] { return ::personality(ADDR_NO_RANDOMIZE) != -1 && !process_facts().has_random_addresses; }));
}

TEST(ProcessFacts, NameTheProgramAlike) {
  const std::string id = process_facts().program_id;
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(process_facts().program_id, id);
}

TEST(ProcessFacts, KnowATracer) {
  EXPECT_TRUE(is_traced_by("Name:\tx\nTracerPid:\t4711\nUid:\t0\n"));
  EXPECT_FALSE(is_traced_by("Name:\tx\nTracerPid:\t0\nUid:\t0\n"));
  EXPECT_FALSE(is_traced_by(""));
}

TEST(ProcessFacts, WarnOfWhatChangesTimes) {
  EXPECT_THAT(warnings(ProcessFacts()), IsEmpty());
  EXPECT_THAT(
      texts_of(warnings(ProcessFacts{.is_traced = true, .has_random_addresses = false})),
      ElementsAre("a debugger or a tracer follows this process: each system call waits for it",
                  "addresses are not random: memory lies alike in each process, so repeats differ less than processes "
                  "do elsewhere"));
}

}  // namespace
}  // namespace rnnlab
