// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class LoadText : public DataTest {
 protected:
  Dataset load(const std::string& more) const {
    return load_dataset(parse_settings(fmt::format("source: text\npath: {}\n{}", path("a.txt"), more)));
  }
};

TEST_F(LoadText, PredictsTheNextTokenAtEveryStep) {
  write("a.txt", "abcabcabcab");
  const Dataset data = load("sequence_length: 3\nnum_valid: 1\n");
  EXPECT_EQ(data.shape.task, Task::kLanguageModel);
  EXPECT_EQ(data.shape.num_outputs, 3);
  EXPECT_EQ(data.shape.input_size, 3);
  EXPECT_THAT(data.vocabulary, ElementsAre("a", "b", "c"));
  EXPECT_EQ(data.train.inputs.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_THAT(values_of<int64_t>(data.train.inputs), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(1, 2, 0));
  expect_golden(data.notes);
  expect_golden(data.description);
}

TEST_F(LoadText, TakesCharactersOrBytes) {
  write("a.txt", "äöäöäö");
  EXPECT_EQ(load("sequence_length: 1").shape.num_outputs, 2);
  EXPECT_EQ(load("sequence_length: 1\ntokens: bytes").shape.num_outputs, 3);
}

TEST_F(LoadText, TakesAFileOfItsOwnForValidation) {
  write("train.txt", "abcabc");
  write("valid.txt", "cba");
  const auto load_both = [&] {
    return load_dataset(parse_settings(
        fmt::format("source: text\npath: {}\ntrain_file: train.txt\nvalid_file: valid.txt\nsequence_length: 2",
                    folder().string())));
  };
  EXPECT_EQ(load_both().train.size(), 2);
  EXPECT_THAT(values_of<int64_t>(load_both().valid.targets), ElementsAre(1, 0));
  write("valid.txt", "abd");
  EXPECT_THAT(error_of(ExitCode::kData, load_both), ::testing::HasSubstr("{}/valid.txt"));
}

TEST_F(LoadText, KeepsNothingForValidationWhereNoneIsWanted) {
  write("a.txt", "abc");
  const Dataset data = load("sequence_length: 2\nnum_valid: 0");
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 2));
  EXPECT_EQ(data.valid.size(), 0);
}

TEST_F(LoadText, RefusesATextShorterThanAWindow) {
  write("a.txt", "abc");
  expect_golden(error_of(ExitCode::kData, [&] { load("sequence_length: 3"); }));
  expect_golden(error_of(ExitCode::kData, [&] { load("sequence_length: 2"); }));
}

TEST_F(LoadText, SaysHowToFetchTinyShakespeare) {
  expect_golden(error_of(ExitCode::kData, [] { load_dataset(parse_settings("source: text")); }));
}

}  // namespace
}  // namespace rnnlab
