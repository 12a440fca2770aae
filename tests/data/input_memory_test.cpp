// SPDX-License-Identifier: Apache-2.0
#include "data/input_memory.h"

#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class InputMemoryTest : public DataTest {
 protected:
  // Four samples need 4 x 2 x 3 x 4 = 96 bytes as float32.
  void write_bytes() const {
    write_npy<uint8_t>("x.npy", "|u1", "4, 2, 3", std::vector<uint8_t>(24, 200));
    write_npy<int64_t>("y.npy", "<i8", "4,", {0, 1, 1, 0});
  }

  DataSettings settings(const std::string& more = "") const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\n{}", folder().string(), more));
  }

  // usable: three quarters of the limit.
  static InputMemoryChoice choice(const DataSettings& settings, int64_t usable) {
    return choose_input_memory(settings, inputs_of_training(settings),
                               {.hard = {{1 << 30, "large"}, {usable * 4 / 3, "small"}}, .available = std::nullopt});
  }

  static std::vector<std::string> mapped(const DataSettings& settings, int64_t usable) {
    return choice(settings, usable).mapped;
  }
};

TEST_F(InputMemoryTest, IsMappedByAutoIfASplitNeedsMoreThanTheLimit) {
  write_bytes();
  EXPECT_THAT(mapped(settings(), 192), IsEmpty());
  EXPECT_THAT(choice(settings(), 192).notes, IsEmpty());
  EXPECT_THAT(mapped(settings(), 191), ElementsAre("x.npy"));
  expect_golden(choice(settings(), 191).notes);
}

TEST_F(InputMemoryTest, OfDoublesCountsTheFileAndItsFloats) {
  write_npy<double>("x.npy", "<f8", "4, 2, 3", std::vector<double>(24, 7));
  EXPECT_THAT(mapped(settings(), 192 + 96), IsEmpty());
  EXPECT_THAT(mapped(settings(), 192 + 95), ElementsAre("x.npy"));
}

TEST_F(InputMemoryTest, DoesNotCountSwap) {
  write_bytes();
  const MemoryLimits limits{.hard = {{1000, "this machine", 900}, {500, "ulimit -v"}}, .available = std::nullopt};
  const InputMemoryChoice choice = choose_input_memory(settings(), {"x.npy"}, limits);
  EXPECT_EQ(choice.memory_of("x.npy"), InputMemory::kMapped);
  expect_golden(choice.notes);
}

TEST_F(InputMemoryTest, CountsTrainingAndValidationTogether) {
  write_bytes();
  const DataSettings both = settings("valid_inputs: v.npy\nvalid_targets: y.npy\n");
  EXPECT_THAT(mapped(both, 192), IsEmpty()) << "v.npy is missing";
  write_npy<uint8_t>("v.npy", "|u1", "1, 2, 3", std::vector<uint8_t>(6, 200));
  EXPECT_THAT(mapped(both, 192 + 24), IsEmpty());
  EXPECT_THAT(mapped(both, 192 + 23), ElementsAre("x.npy", "v.npy"));
  expect_golden(choice(both, 192 + 23).notes);
}

TEST_F(InputMemoryTest, IsDecidedByAutoForEachFile) {
  write_bytes();
  write_npy<uint8_t>("v.npy", "|u1", "1, 2, 3", std::vector<uint8_t>(6, 200));
  replace_in("v.npy", "False", "True ");
  const InputMemoryChoice inputs = choice(settings("valid_inputs: v.npy\nvalid_targets: y.npy\n"), 10);
  EXPECT_EQ(inputs.memory_of("x.npy"), InputMemory::kMapped);
  EXPECT_EQ(inputs.memory_of("v.npy"), InputMemory::kResident);
  expect_golden(inputs.notes);
}

TEST_F(InputMemoryTest, IsResidentIfAutoCannotMapTheFile) {
  write_bytes();
  EXPECT_THAT(mapped(settings("placement: device"), 100), IsEmpty());
  expect_golden(choice(settings("placement: device"), 100).notes);
  write_npy<uint16_t>("x.npy", ">u2", "2, 1", {0, 0});
  EXPECT_THAT(mapped(settings(), 10), IsEmpty());
  expect_golden(choice(settings(), 10).notes);
}

TEST_F(InputMemoryTest, LeavesBrokenFilesToTheLoader) {
  EXPECT_THAT(mapped(settings(), 1), IsEmpty());
  write("x.npy", "no array");
  EXPECT_THAT(mapped(settings(), 1), IsEmpty());
}

TEST_F(InputMemoryTest, IsWhatTheKeySays) {
  write_bytes();
  EXPECT_THAT(mapped(settings("memory: resident"), 1), IsEmpty());
  EXPECT_THAT(mapped(settings("memory: mapped"), 1 << 20), ElementsAre("x.npy"));
}

TEST_F(InputMemoryTest, OfMappedInputsCountsNoBytes) {
  write_bytes();
  EXPECT_EQ(least_data_bytes(settings("memory: resident")), 128 + 32) << "the larger file";
  write_npy<uint8_t>("x.npy", "|u1", "4, 2, 30", std::vector<uint8_t>(240, 200));
  EXPECT_EQ(least_data_bytes(settings("memory: mapped")), 128 + 32) << "the targets";
}

TEST_F(InputMemoryTest, IsAdvisedWhereMappingSavesMemory) {
  EXPECT_FALSE(mapping_saves_memory(settings())) << "the file is missing";
  write_bytes();
  EXPECT_FALSE(mapping_saves_memory(settings())) << "the file of targets is as large";
  write_npy<uint8_t>("x.npy", "|u1", "4, 2, 30", std::vector<uint8_t>(240, 200));
  EXPECT_TRUE(mapping_saves_memory(settings()));
  EXPECT_TRUE(mapping_saves_memory(settings("memory: resident")));
  EXPECT_FALSE(mapping_saves_memory(settings("memory: mapped")));
  EXPECT_FALSE(mapping_saves_memory(settings("placement: device")));
  EXPECT_FALSE(mapping_saves_memory(parse_settings("source: digits")));
  replace_in("x.npy", "False", "True ");
  EXPECT_FALSE(mapping_saves_memory(settings()));
}

TEST_F(InputMemoryTest, IsForNpyOnTheHost) {
  expect_golden(error_of(ExitCode::kUsage, [] { parse_settings("source: digits\nmemory: mapped"); }));
  expect_golden(error_of(ExitCode::kUsage, [&] { settings("memory: mapped\nplacement: device"); }));
}

}  // namespace
}  // namespace rnnlab
