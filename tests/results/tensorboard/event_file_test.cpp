// SPDX-License-Identifier: Apache-2.0
#include "results/tensorboard/event_file.h"

#include <gmock/gmock.h>

#include <array>
#include <ctime>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "results/tensorboard/event_reader.h"

namespace rnnlab::tensorboard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using namespace std::string_literals;
using rnnlab::testing::doubles_of;
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

// Field numbers of Summary, its Value, SummaryMetadata and PluginData.
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kHistogram = 5, kMetadata = 9, kPluginData = 1, kContent = 2;

TEST(Scalar, IsAValueWithItsTag) {
  const Message value = Message(scalar_summary("train/loss", 0.25)).message(kValue);
  EXPECT_EQ(value.bytes(kTag), "train/loss");
  EXPECT_EQ(value.number(kSimpleValue), 0.25);
}

TEST(Histogram, HasBucketsOfEqualWidth) {
  const std::array<double, 4> counts = {1, 0, 5, 2};
  const Message value = Message(histogram_summary("weights/a", {-1.0, 1.0, 3.5, 2.25, counts})).message(kValue);
  EXPECT_EQ(value.bytes(kTag), "weights/a");
  const Message histogram = value.message(kHistogram);
  const std::map<int, double> numbers = {{1, -1.0}, {2, 1.0}, {3, 8.0}, {4, 3.5}, {5, 2.25}};
  for (const auto& [field, number] : numbers) EXPECT_EQ(histogram.number(field), number) << "of field " << field;
  EXPECT_THAT(doubles_of(histogram, 6), ElementsAre(-0.5, 0, 0.5, 1));
  EXPECT_THAT(doubles_of(histogram, 7), ElementsAreArray(counts));
}

TEST(Hyperparameters, KeepTheirTypes) {
  const std::string summary =
      session_start({{"layer", "fused"}, {"model.tied", "false"}, {"training.learning_rate", "0.001"}});
  const Message value = Message(summary).message(kValue);
  EXPECT_EQ(value.bytes(kTag), "_hparams_/session_start_info");
  const Message info =
      Message(value.message(kMetadata).message(kPluginData).bytes(kContent)).message(/*session_start_info=*/3);
  EXPECT_FALSE(info.has(4)) << "runs of one group_name would be one row on the HPARAMS page";
  std::map<std::string, std::string> settings;
  for (const std::string& entry : info.all_bytes.at(1)) {
    const Message setting = Message(entry).message(2);
    const std::string key = Message(entry).bytes(1);
    if (setting.has(2)) settings[key] = "number " + std::to_string(setting.number(2));
    if (setting.has(3)) settings[key] = "text " + setting.bytes(3);
    if (setting.has(4)) settings[key] = setting.number(4) == 0 ? "bool false" : "bool true";
  }
  EXPECT_THAT(settings, UnorderedElementsAre(Pair("layer", "text fused"), Pair("model.tied", "bool false"),
                                             Pair("training.learning_rate", "number 0.001000")));
}

TEST(Hyperparameters, TellHowTheSessionEnded) {
  const Message value = Message(session_end(SessionEnd::kFailed)).message(kValue);
  EXPECT_EQ(value.bytes(kTag), "_hparams_/session_end_info");
  const Message info =
      Message(value.message(kMetadata).message(kPluginData).bytes(kContent)).message(/*session_end_info=*/4);
  EXPECT_EQ(info.number(1), 2) << "STATUS_FAILURE";
}

TEST(Graph, HasNodesWithInputsShapesAndAttributes) {
  const Message graph(graph_def_of({{.name = "in", .operation = "Input", .shape = {-1, 28}},
                                    {.name = "dense0/product",
                                     .operation = "MatMul",
                                     .inputs = {"in", "dense0/weight"},
                                     .shape = {-1, 10},
                                     .attributes = {{"parameter", "dense0.weight"}}}}));
  ASSERT_THAT(graph.all_bytes.at(1), SizeIs(2));
  EXPECT_GT(graph.message(/*versions=*/4).number(/*producer=*/1), 0);
  const Message node(graph.all_bytes.at(1)[1]);
  EXPECT_EQ(node.bytes(1), "dense0/product");
  EXPECT_EQ(node.bytes(2), "MatMul");
  EXPECT_THAT(node.all_bytes.at(3), ElementsAre("in", "dense0/weight"));
  const Message shape_entry(node.all_bytes.at(5)[0]);
  EXPECT_EQ(shape_entry.bytes(1), "_output_shapes");
  const Message shape = shape_entry.message(2).message(/*list=*/1).message(/*shape=*/7);
  std::vector<double> sizes;
  for (const std::string& dimension : shape.all_bytes.at(2)) sizes.push_back(Message(dimension).number(1));
  EXPECT_THAT(sizes, ElementsAre(-1, 10));
  const Message text_entry(node.all_bytes.at(5)[1]);
  EXPECT_EQ(text_entry.bytes(1), "parameter");
  EXPECT_EQ(text_entry.message(2).bytes(2), "dense0.weight");
}

}  // namespace
}  // namespace rnnlab::tensorboard
