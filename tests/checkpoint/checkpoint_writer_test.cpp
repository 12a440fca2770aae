#include "checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/sample_checkpoint.h"
#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

std::function<CheckpointContents()> sample(int64_t step, int64_t hidden_size = 4) {
  return [=] { return sample_contents(step, hidden_size); };
}

TEST(CheckpointWriter, SavesInOrderAndKeepsAFew) {
  const TemporaryFolder folder;
  CheckpointWriter writer(folder.path(), 2);
  writer.wait();  // for nothing
  for (int64_t step = 1; step <= 6; ++step)
    writer.submit(step, sample(step), step == 2 ? Standing::kBest : Standing::kOrdinary);
  writer.wait();
  std::vector<int64_t> steps;
  for (const CheckpointPlace& place : list_checkpoints(folder.path())) {
    EXPECT_EQ(load_checkpoint(place.path).state["step"], place.step);
    steps.push_back(place.step);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 5, 6}));
  EXPECT_EQ(best_checkpoint(folder.path())->step, 2);
}

TEST(CheckpointWriter, OwnsWhatItWrites) {
  const TemporaryFolder folder;
  CheckpointWriter writer(folder.path(), 1);
  std::weak_ptr<const void> owner;
  writer.submit(
      1,
      [&, contents = sample_contents(1, 64)] {
        owner = contents.owner;
        return contents;
      },
      Standing::kOrdinary);
  writer.wait();
  EXPECT_TRUE(owner.expired());
  verify_checkpoint(folder.path() / "step-000001");
}

TEST(CheckpointWriter, MakesTheContentsOnItsOwnThread) {
  const TemporaryFolder folder;
  CheckpointWriter writer(folder.path(), 1);
  std::thread::id thread = std::this_thread::get_id();
  writer.submit(
      1,
      [&] {
        thread = std::this_thread::get_id();
        return sample_contents(1);
      },
      Standing::kOrdinary);
  writer.wait();
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(CheckpointWriter, FinishesBeforeItGoes) {
  const TemporaryFolder folder;
  { CheckpointWriter(folder.path(), 1).submit(1, sample(1, 256), Standing::kBest); }
  verify_checkpoint(folder.path() / "step-000001");
}

TEST(CheckpointWriter, TellsOnceWhatWentWrong) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::string message = (run / "checkpoints").string() + ": cannot make: No such file or directory";
  CheckpointWriter writer(run / "checkpoints", 1);
  writer.submit(1, sample(1), Standing::kOrdinary);
  expect_error(ExitCode::kDevice, message, [&] { writer.submit(2, sample(2), Standing::kOrdinary); });
  writer.submit(3, sample(3), Standing::kOrdinary);
  expect_error(ExitCode::kDevice, message, [&] { writer.wait(); });
  fs::create_directory(run);
  writer.submit(4, sample(4), Standing::kOrdinary);
  writer.wait();
  EXPECT_EQ(latest_checkpoint(run / "checkpoints").place->step, 4);
}

TEST(CheckpointWriter, SharesAFolderWithAnother) {
  const TemporaryFolder folder;
  CheckpointWriter a(folder.path(), 100);
  CheckpointWriter b(folder.path(), 100);
  for (int64_t step = 1; step <= 10; ++step) {
    a.submit(step, sample(step), Standing::kBest);
    b.submit(step + step % 2, sample(step + step % 2), Standing::kBest);  // often the same step
  }
  a.wait();
  b.wait();
  EXPECT_EQ(list_checkpoints(folder.path()).size(), 10u);
  for (const CheckpointPlace& place : list_checkpoints(folder.path())) verify_checkpoint(place.path);
}

}  // namespace
}  // namespace rnnlab::testing
