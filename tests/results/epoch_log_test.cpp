#include "results/epoch_log.h"

#include <gtest/gtest.h>

#include "results/epoch_text.h"
#include "results/expect_error.h"
#include "results/sample_rows.h"
#include "results/small_disk.h"
#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

TEST(EpochLog, WritesEveryRowAsItComes) {
  const TemporaryFolder folder;
  EpochLog log(folder.path());
  log.append(sample_row(1, 2));
  EXPECT_EQ(read_text(folder.path() / "epochs.csv"), epoch_csv_header() + epoch_csv_line(sample_row(1, 2)));
  EXPECT_EQ(read_text(folder.path() / "epochs.jsonl"), epoch_jsonl_line(sample_row(1, 2)));
  log.append(sample_row(2, 3));
  log.sync();
  EXPECT_EQ(read_epochs(folder.path()).back().train_seconds, 3);
}

TEST(EpochLog, GoesOnWithoutASecondHeader) {
  const TemporaryFolder folder;
  EpochLog(folder.path()).append(sample_row(1, 2));
  EpochLog(folder.path()).append(sample_row(2, 3));
  EXPECT_EQ(read_epochs(folder.path()).size(), 2u);
}

TEST(EpochLog, FailsOnAFullDiskAndKeepsWholeRows) {
  const SmallDisk disk;
  EpochLog log(disk.path());
  int64_t num_appended = 0;
  EXPECT_THROW(
      while (true) {
        log.append(sample_row(num_appended + 1, 2));
        ++num_appended;
      },
      UserError);
  const auto num_read = static_cast<int64_t>(read_epochs(disk.path()).size());
  EXPECT_GT(num_read, 0);
  EXPECT_GE(num_read, num_appended);  // the CSV may hold the row that the JSONL had no room for
  EXPECT_LE(num_read, num_appended + 1);
}

TEST(EpochLog, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "epochs.csv");
  expect_error(ExitCode::kDevice,
               folder.name("epochs.csv") +
                   ": cannot write: No space left on device; free some space or choose another folder with --out",
               [&] { EpochLog log(folder.path()); });
}

TEST(ReadEpochs, NamesTheFileAndTheLine) {
  const TemporaryFolder folder;
  write_text(folder.path() / "epochs.csv", epoch_csv_header() + "1,");
  expect_error(
      ExitCode::kData,
      folder.name("epochs.csv") + ":2: the last line is cut off (no line end): delete it to use the rows before it",
      [&] { read_epochs(folder.path()); });
}

}  // namespace
}  // namespace rnnlab::testing
