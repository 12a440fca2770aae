#include "experiment/thread_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace rnnlab {
namespace {

using ::testing::Gt;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class WithoutVariable {
 public:
  explicit WithoutVariable(const char* name) : name_(name), value_(std::getenv(name)) { ::unsetenv(name); }
  ~WithoutVariable() { ::setenv(name_, value_.c_str(), 1); }
  WithoutVariable(const WithoutVariable&) = delete;
  WithoutVariable& operator=(const WithoutVariable&) = delete;

 private:
  const char* name_;
  std::string value_;
};

TEST(ThreadChoice, IsNotMadeIfTheMostThreadsAreTheFastest) {
  EXPECT_FALSE(choose_num_threads({{16, 155'000.0}, {8, 80'000.0}, {4, 40'000.0}, {2, 20'000.0}, {1, 10'000.0}}));
}

TEST(ThreadChoice, IsNotMadeIfFewerThreadsAreNotTwiceAsFast) {
  EXPECT_FALSE(choose_num_threads({{2, 10'000.0}, {1, 15'000.0}}));
}

TEST(ThreadChoice, IsTheFastestNumberOnABusyMachine) {
  const auto choice = choose_num_threads({{4, 1'000.0}, {2, 12'000.0}, {1, 10'000.0}});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->num_threads, 2);
  EXPECT_EQ(choice->reason, "2 threads did 12 times the work of 4");
}

TEST(ThreadChoice, IsNotMadeWithoutAMeasurement) { EXPECT_FALSE(choose_num_threads({})); }

TEST(ThreadChoice, MeasuresTheMostThreadsAndTheirHalves) {
  const WithoutVariable user_chose_none("OMP_NUM_THREADS");
  EXPECT_THAT(measure_speeds(3), UnorderedElementsAre(Pair(3, Gt(0)), Pair(1, Gt(0))));
}

TEST(ThreadChoice, MeasuresNothingForOneThread) {
  const WithoutVariable user_chose_none("OMP_NUM_THREADS");
  EXPECT_TRUE(measure_speeds(1).empty());
}

TEST(ThreadChoice, MeasuresNothingIfTheUserHasChosen) {
  ASSERT_NE(std::getenv("OMP_NUM_THREADS"), nullptr) << "as tests/fixed_num_threads.cpp sets it";
  EXPECT_TRUE(measure_speeds(4).empty());
}

}  // namespace
}  // namespace rnnlab
