#include "tensorboard/event_file.h"

#include <gmock/gmock.h>

#include <ctime>

#include "base/expect_error.h"
#include "system/temporary_folder.h"

#include "tensorboard/event_reader.h"

namespace rnnlab::tensorboard {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using namespace std::string_literals;
using rnnlab::testing::event_files_in;
using rnnlab::testing::Message;
using rnnlab::testing::read_text;
using rnnlab::testing::records_of;
using rnnlab::testing::TemporaryFolder;

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(EventRecord, IsWhatTensorBoardsOwnWriterMakes) {
  EXPECT_EQ(as_record("abc"),
            "\x03\0\0\0\0\0\0\0\xb0\x99I\x0e"
            "abcnW\xf1!"s);
}

std::vector<Message> events_of(const EventFile& file) {
  std::vector<Message> events;
  for (const std::string& record : records_of(read_text(file.path()))) events.emplace_back(record);
  return events;
}

TEST(EventFile, BeginsWithItsVersionAndHoldsEventsAsTheyCome) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  const auto before = static_cast<double>(std::time(nullptr));
  file.append_start(7);
  file.append_summary(8, "summary");
  file.append_graph("graph");
  const auto events = events_of(file);
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].bytes(3), "brain.Event:2");
  EXPECT_EQ(events[1].number(2), 7);
  EXPECT_EQ(events[1].message(7).number(1), 1) << "SessionLog.START";
  EXPECT_EQ(events[2].number(2), 8);
  EXPECT_EQ(events[2].bytes(5), "summary");
  EXPECT_EQ(events[3].bytes(4), "graph");
  EXPECT_NEAR(events[3].number(1), before, 60);
}

TEST(EventFile, NamesNoMachineUnlessItIsTold) {
  const TemporaryFolder folder;
  const auto name_of = [](const EventFile& file) { return file.path().filename().string(); };
  EXPECT_THAT(name_of(EventFile(folder.path())), MatchesRegex("events.out.tfevents.[0-9]{10}.rnnlab.[0-9]+"));
  EXPECT_THAT(name_of(EventFile(folder.path(), "lab/7")), HasSubstr(".lab-7."));
  EXPECT_THAT(name_of(EventFile(folder.path(), "")), HasSubstr(".rnnlab."));
}

TEST(EventFile, ComesAfterThoseThatAreThere) {
  const TemporaryFolder folder;
  const std::string later = std::to_string(std::time(nullptr) + 1000);
  rnnlab::testing::write_text(folder.path() / ("events.out.tfevents." + later + ".host.1"), "");
  rnnlab::testing::write_text(folder.path() / "events.out.tfevents.x", "not one of ours");
  const EventFile second(folder.path());
  const EventFile third(folder.path());
  const auto files = event_files_in(folder.path());
  ASSERT_THAT(files, SizeIs(4));
  EXPECT_EQ(files[1], second.path());
  EXPECT_EQ(files[2], third.path());
}

TEST(EventFile, IsAnErrorWhereItCannotBeWritten) {
  const TemporaryFolder folder;
  const auto gone = folder.path() / "gone";
  try {
    EventFile file(gone);
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
    EXPECT_THAT(error.what(), ::testing::StartsWith((gone / "events.out.tfevents.").string()));
  }
}

}  // namespace
}  // namespace rnnlab::tensorboard
