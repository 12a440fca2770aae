#include "data/dataset.h"

#include <functional>
#include <limits>

#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {
namespace {

// What was fitted to a table, and a change that a stranger makes to it.
class FaultOfFittedData : public DataTest {
 protected:
  FaultOfFittedData() { write("a.csv", "a,b\n1,2\n2,4\n3,5\n4,9\n5,1\n6,3\n"); }

  std::string fault(const std::string& yaml, const std::function<void(FittedData&)>& change) const {
    const DataSettings settings = parse_settings("path: " + path("a.csv") + "\n" + yaml);
    FittedData data = load_dataset(settings);
    EXPECT_EQ(fault_of(data, settings), "");
    change(data);
    return fault_of(data, settings);
  }

  std::string series_fault(const std::function<void(FittedData&)>& change) const {
    return fault("source: csv\ntarget: [b]\nwindow: 1\nvalid_fraction: 0.4\n", change);
  }
};

TEST_F(FaultOfFittedData, IsOfASeriesWithOtherColumns) {
  EXPECT_EQ(series_fault([](FittedData& data) { data.feature_scales.clear(); }), "0 scales for 2 columns");
  EXPECT_EQ(series_fault([](FittedData& data) { data.shape.sequence_length = 7; }),
            "7 steps of 2 features for a data.window of 1");
  EXPECT_EQ(series_fault([](FittedData& data) { data.target_scales.clear(); }), "0 scales of 1 targets");
  EXPECT_EQ(series_fault([](FittedData& data) {
              data.shape.num_outputs = 2;
              data.target_scales.resize(2);
            }),
            "1 columns of 2 outputs");
}

TEST_F(FaultOfFittedData, IsOfATableWithOtherColumnsOrClasses) {
  const auto table_fault = [&](const std::function<void(FittedData&)>& change) {
    return fault("source: csv\ntarget: [b]\n", change);
  };
  EXPECT_EQ(table_fault([](FittedData& data) { data.feature_scales.clear(); }), "0 scales for 1 column");
  EXPECT_EQ(table_fault([](FittedData& data) { data.shape.input_size = 3; }),
            "1 steps of 3 features for a data.window of 0");
  EXPECT_EQ(table_fault([](FittedData& data) { data.vocabulary.clear(); }), "0 names of 6 outputs");
}

TEST_F(FaultOfFittedData, IsOfATextWithoutTokens) {
  write("a.txt", "abcabcabcabc");
  const std::string yaml = "source: text\nsequence_length: 2\ntrain_file: a.txt\n";
  const DataSettings settings = parse_settings("path: " + folder().string() + "\n" + yaml);
  FittedData data = load_dataset(settings);
  EXPECT_EQ(fault_of(data, settings), "");
  data.vocabulary = {"a", "b", "cd"};
  EXPECT_EQ(fault_of(data, settings), "a token that is neither a byte nor a character");
  data.vocabulary.clear();
  EXPECT_EQ(fault_of(data, settings), "a text without tokens");
}

TEST_F(FaultOfFittedData, IsOfNumbersThatAreNotFinite) {
  EXPECT_EQ(series_fault([](FittedData& data) { data.column_means["a"] = std::numeric_limits<double>::infinity(); }),
            "a mean that is not finite");
  EXPECT_EQ(series_fault([](FittedData& data) { data.feature_scales[0].scale = 0; }),
            "a scale that is zero or not finite");
}

}  // namespace
}  // namespace rnnlab
