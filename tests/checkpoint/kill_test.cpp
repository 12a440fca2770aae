// Sends kill -9 at random moments of saving. RNNLAB_KILLS=1000 makes it a long run.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/sample_checkpoint.h"
#include "checkpoint/save_program.h"
#include "system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

int num_kills() {
  const char* wanted = std::getenv("RNNLAB_KILLS");
  return wanted == nullptr ? 30 : std::atoi(wanted);
}

bool has_leftovers(const fs::path& folder) {
  const auto entries = fs::directory_iterator(folder);
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return is_leftover(entry.path().filename().string()); });
}

TEST(Kill, LosesNoCheckpointThatWasFinished) {
  const TemporaryFolder folder;
  const fs::path checkpoints = folder.path() / "checkpoints";
  save_checkpoint(checkpoints, 1, sample_contents(1));
  mark_best_checkpoint(checkpoints, 1);
  std::mt19937 random(1);
  std::uniform_int_distribution<useconds_t> microseconds(2'000, 80'000);
  int num_inside = 0;
  int64_t newest = 1;
  for (int kill = 0; kill < num_kills(); ++kill) {
    const int process = start_saving({.folder = checkpoints,
                                      .first = static_cast<int>(newest) + 1,
                                      .last = 1'000'000,
                                      .hidden_size = 300,
                                      .keep = 2});
    ::usleep(microseconds(random));
    ::kill(process, SIGKILL);
    ASSERT_EQ(finish(process), 128 + SIGKILL);
    const std::vector<CheckpointPlace> places = list_checkpoints(checkpoints);
    for (const CheckpointPlace& place : places) verify_checkpoint(place.path);
    ASSERT_GE(places.back().step, newest);
    EXPECT_TRUE(best_checkpoint(checkpoints).has_value());
    newest = places.back().step;
    num_inside += has_leftovers(checkpoints) ? 1 : 0;
  }
  EXPECT_EQ(save_in_process({.folder = checkpoints, .first = 1'000'001, .last = 1'000'001}), 0);
  EXPECT_FALSE(has_leftovers(checkpoints));
  std::cout << num_kills() << " kills, " << num_inside << " of them inside a save, " << newest << " saves\n";
  RecordProperty("inside_a_save", num_inside);
}

}  // namespace
}  // namespace rnnlab::testing
