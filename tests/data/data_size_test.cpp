#include "data/data_size.h"

#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {
namespace {

class DataSizeOf : public DataTest {};

TEST_F(DataSizeOf, GeneratedDataIsExact) {
  for (const std::string yaml :
       {"source: digits\nnum_train: 20\nnum_valid: 10\n", "source: synthetic\nsequence_length: 5\nnum_features: 3\n",
        "source: synthetic\nsequence_length: 5\nlabels: gaussian\n", "source: synthetic\nlabels: binary\n"}) {
    const DataSettings settings = parse_settings(yaml);
    const Dataset data = load_dataset(settings);
    EXPECT_EQ(least_data_bytes(settings), data.train.bytes() + data.valid.bytes()) << yaml;
    const DataShape shape = least_shape(settings);
    EXPECT_EQ(shape.task, data.shape.task) << yaml;
    EXPECT_EQ(shape.input_size, data.train.inputs.size(2)) << yaml;
    EXPECT_EQ(shape.sequence_length, data.train.inputs.size(1)) << yaml;
    EXPECT_EQ(shape.num_outputs, data.shape.num_outputs) << yaml;
  }
}

TEST_F(DataSizeOf, GeneratedDataSaturates) {
  const DataSettings settings = parse_settings(
      "source: synthetic\nnum_train: 1000000000\nsequence_length: 1000000000\nnum_features: 1000000000\n");
  EXPECT_EQ(least_data_bytes(settings), std::numeric_limits<int64_t>::max());
}

TEST_F(DataSizeOf, FilesIsThatOfTheLargest) {
  write("a.csv", "a,b\n1,2\n");
  write("b.csv", "a,b\n1,2\n3,4\n");
  const std::string folder_of_files = "source: csv\ntarget: [b]\npath: " + folder().string() + "\n";
  EXPECT_EQ(least_data_bytes(parse_settings(folder_of_files + "train_file: a.csv\nvalid_file: b.csv\n")), 12);
  EXPECT_EQ(least_data_bytes(parse_settings("source: csv\ntarget: [b]\npath: " + path("a.csv") + "\n")), 8);
  EXPECT_EQ(least_data_bytes(parse_settings(folder_of_files + "train_file: missing.csv\n")), 0);
}

TEST_F(DataSizeOf, FilesHasTheShapeThatTheSettingsSay) {
  const DataShape series = least_shape(parse_settings("source: csv\npath: a.csv\ntarget: [b]\nwindow: 7\n"));
  EXPECT_EQ(series.task, Task::kRegression);
  EXPECT_EQ(series.sequence_length, 7);
  const DataShape text = least_shape(parse_settings("source: text\npath: a.txt\nsequence_length: 9\n"));
  EXPECT_EQ(text.task, Task::kLanguageModel);
  EXPECT_EQ(text.sequence_length, 9);
}

}  // namespace
}  // namespace rnnlab
