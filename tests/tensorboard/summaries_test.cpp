#include <gmock/gmock.h>

#include <array>

#include "tensorboard/event_reader.h"
#include "tensorboard/histogram.h"
#include "tensorboard/hyperparameters.h"
#include "tensorboard/scalars.h"

namespace rnnlab::tensorboard {
namespace {

using rnnlab::testing::doubles_of;
using rnnlab::testing::Message;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Field numbers of Summary, its Value, SummaryMetadata and PluginData.
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kHistogram = 5, kMetadata = 9, kPluginData = 1, kContent = 2;

std::map<std::string, double> scalars_in(const std::string& summary) {
  std::map<std::string, double> scalars;
  const Message message(summary);
  for (const std::string& bytes : message.all_bytes.at(kValue))
    scalars[Message(bytes).bytes(kTag)] = Message(bytes).number(kSimpleValue);
  return scalars;
}

TEST(Scalars, AreWhatAnEpochsRowHas) {
  EpochRow row;
  row.epoch = 3;
  row.train_loss = 0.25;
  row.valid_accuracy = 0.5;
  row.learning_rate = 0.125;
  row.train_seconds = 2;
  row.warmup = true;
  EXPECT_THAT(scalars_in(scalars_of(row)),
              ElementsAre(Pair("measured/data_seconds", 0), Pair("measured/samples_per_second", 0),
                          Pair("measured/train_seconds", 2), Pair("train/loss", 0.25),
                          Pair("training/learning_rate", 0.125), Pair("valid/accuracy", 0.5)));
}

TEST(Scalars, HaveATagForEveryColumnButWhatIsNoCurve) {
  std::vector<std::string> without;
  std::map<std::string, int> tags;
  for (const EpochColumn& column : epoch_columns()) {
    const std::string tag = scalar_tag(column);
    if (tag.empty())
      without.emplace_back(column.name);
    else
      ++tags[tag];
  }
  EXPECT_THAT(without, ElementsAre("epoch", "warmup"));
  EXPECT_EQ(tags.size() + without.size(), epoch_columns().size());
  EXPECT_TRUE(tags.contains("valid/bits_per_character"));
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

}  // namespace
}  // namespace rnnlab::tensorboard
