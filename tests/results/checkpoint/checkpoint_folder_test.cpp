// SPDX-License-Identifier: Apache-2.0
#include "results/checkpoint/checkpoint_folder.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/sample_checkpoint.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

class CheckpointFolder : public ::testing::Test {
 protected:
  void save(const std::vector<int64_t>& steps) const {
    for (const int64_t step : steps) save_checkpoint(path(), step, sample_contents(step));
  }
  // Damages the state without a change of its size.
  void damage(int64_t step) const { write_text(place(step).path / kStateFile, "{\n  \"step\": x\n}\n"); }
  CheckpointPlace place(int64_t step) const {
    for (const CheckpointPlace& place : list_checkpoints(path()))
      if (place.step == step) return place;
    ADD_FAILURE() << "there is no checkpoint of step " << step;
    return {};
  }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> steps;
    for (const CheckpointPlace& place : list_checkpoints(path())) steps.push_back(place.step);
    return steps;
  }
  fs::path path() const { return folder_.path() / "checkpoints"; }

 private:
  TemporaryFolder folder_;
};

using Steps = std::vector<int64_t>;

TEST_F(CheckpointFolder, ListsWholeCheckpointsByStep) {
  EXPECT_TRUE(list_checkpoints(path()).empty());
  save({5, 1, 2'000'000, 300});
  fs::create_directories(path() / ".step-000009.tmp-1");
  write_text(path() / "step-000010", "a file");
  EXPECT_EQ(steps(), (Steps{1, 5, 300, 2'000'000}));
  EXPECT_EQ(place(5).path, path() / "step-000005");
}

TEST_F(CheckpointFolder, FindsTheNewestThatVerifies) {
  EXPECT_FALSE(latest_checkpoint(path()).place.has_value());
  save({1, 2, 3});
  EXPECT_EQ(latest_checkpoint(path()).place, place(3));
  damage(3);
  fs::remove(path() / "step-000002" / kModelFile);
  const LatestCheckpoint latest = latest_checkpoint(path());
  EXPECT_EQ(latest.place, place(1));
  ASSERT_EQ(latest.notes.size(), 2u);
  EXPECT_TRUE(latest.notes[0].starts_with((path() / "step-000003/state.json: SHA-256 ").string()));
  expect_golden(latest.notes[1]);
  damage(1);
  EXPECT_FALSE(latest_checkpoint(path()).place.has_value());
  EXPECT_EQ(latest_checkpoint(path()).notes.size(), 3u);
}

TEST_F(CheckpointFolder, RemembersTheBest) {
  EXPECT_FALSE(best_checkpoint(path()).has_value());
  save({1, 2});
  EXPECT_FALSE(best_checkpoint(path()).has_value());
  mark_best_checkpoint(path(), 1);
  EXPECT_EQ(best_checkpoint(path()), place(1));
  mark_best_checkpoint(path(), 2);
  EXPECT_EQ(best_checkpoint(path()), place(2));
  EXPECT_THROW(mark_best_checkpoint(path(), 3), InvariantError);
}

TEST_F(CheckpointFolder, SaysThatTheBestIsGone) {
  save({1});
  mark_best_checkpoint(path(), 1);
  fs::remove_all(path() / "step-000001");
  expect_error(ExitCode::kCheckpoint, [&] { best_checkpoint(path()); });
}

TEST_F(CheckpointFolder, KeepsTheNewestAndTheBest) {
  save({1, 2, 3, 4, 5});
  mark_best_checkpoint(path(), 2);
  prune_checkpoints(path(), 5, 2);
  EXPECT_EQ(steps(), (Steps{2, 4, 5}));
  mark_best_checkpoint(path(), 5);
  prune_checkpoints(path(), 5, 2);
  EXPECT_EQ(steps(), (Steps{4, 5}));
  prune_checkpoints(path(), 5, 2);
  EXPECT_EQ(steps(), (Steps{4, 5}));
}

TEST_F(CheckpointFolder, AlwaysKeepsOneOlder) {
  save({1, 2, 3});
  prune_checkpoints(path(), 3, 1);
  EXPECT_EQ(steps(), (Steps{2, 3}));
}

TEST_F(CheckpointFolder, KeepsAnOlderOneThatVerifies) {
  save({1, 2, 3, 4, 5});
  damage(4);
  damage(3);
  prune_checkpoints(path(), 5, 1);
  EXPECT_EQ(steps(), (Steps{2, 3, 4, 5}));
  save({6});
  prune_checkpoints(path(), 6, 1);
  EXPECT_EQ(steps(), (Steps{5, 6}));
}

TEST_F(CheckpointFolder, RemovesNothingWhereNoOlderOneVerifies) {
  save({1, 2, 3});
  damage(1);
  damage(2);
  prune_checkpoints(path(), 3, 1);
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
}

TEST_F(CheckpointFolder, LeavesLaterStepsAlone) {
  save({10, 20, 190, 200});
  damage(190);
  damage(200);
  save({30});
  prune_checkpoints(path(), 30, 2);
  EXPECT_EQ(steps(), (Steps{20, 30, 190, 200}));
}

TEST_F(CheckpointFolder, RemovesNothingWhereTheBestIsUnknown) {
  save({1, 2, 3, 4});
  write_text(path() / "best.json", "{}");
  expect_error(ExitCode::kCheckpoint, [&] { prune_checkpoints(path(), 4, 1); });
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
}

TEST_F(CheckpointFolder, RemovesALinkAndNotWhatItLeadsTo) {
  const TemporaryFolder elsewhere;
  const fs::path other = save_checkpoint(elsewhere.path(), 1, sample_contents(1));
  save({2, 3, 4});
  fs::create_directory_symlink(other, path() / "step-000001");
  prune_checkpoints(path(), 4, 2);
  EXPECT_EQ(steps(), (Steps{3, 4}));
  verify_checkpoint(other);
}

}  // namespace
namespace {

namespace fs = std::filesystem;

std::function<CheckpointContents()> sample(int64_t step, int64_t hidden_size = 4) {
  return [=] { return sample_contents(step, hidden_size); };
}

TEST(CheckpointWriter, SavesInOrderAndKeepsAFew) {
  const TemporaryFolder folder;
  CheckpointWriter writer(folder.path(), 2);
  writer.wait();  // nothing was submitted
  for (int64_t step = 1; step <= 6; ++step)
    writer.submit(step, sample(step), step == 2 ? CheckpointKind::kBest : CheckpointKind::kOrdinary);
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
      CheckpointKind::kOrdinary);
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
      CheckpointKind::kOrdinary);
  writer.wait();
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(CheckpointWriter, FinishesBeforeItGoes) {
  const TemporaryFolder folder;
  { CheckpointWriter(folder.path(), 1).submit(1, sample(1, 256), CheckpointKind::kBest); }
  verify_checkpoint(folder.path() / "step-000001");
}

TEST(CheckpointWriter, TellsOnceWhatWentWrong) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::string message = (run / "checkpoints").string() + ": cannot make: No such file or directory";
  CheckpointWriter writer(run / "checkpoints", 1);
  writer.submit(1, sample(1), CheckpointKind::kOrdinary);
  expect_error(ExitCode::kDevice, message, [&] { writer.submit(2, sample(2), CheckpointKind::kOrdinary); });
  writer.submit(3, sample(3), CheckpointKind::kOrdinary);
  expect_error(ExitCode::kDevice, message, [&] { writer.wait(); });
  fs::create_directory(run);
  writer.submit(4, sample(4), CheckpointKind::kOrdinary);
  writer.wait();
  EXPECT_EQ(latest_checkpoint(run / "checkpoints").place->step, 4);
}

TEST(CheckpointWriter, SharesAFolderWithAnother) {
  const TemporaryFolder folder;
  CheckpointWriter a(folder.path(), 100);
  CheckpointWriter b(folder.path(), 100);
  for (int64_t step = 1; step <= 10; ++step) {
    a.submit(step, sample(step), CheckpointKind::kBest);
    b.submit(step + step % 2, sample(step + step % 2), CheckpointKind::kBest);  // often the same step
  }
  a.wait();
  b.wait();
  EXPECT_EQ(list_checkpoints(folder.path()).size(), 10u);
  for (const CheckpointPlace& place : list_checkpoints(folder.path())) verify_checkpoint(place.path);
}

}  // namespace
}  // namespace rnnlab::testing
