// SPDX-License-Identifier: Apache-2.0
#include "data/input_memory.h"

#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {
namespace {

class InputMemoryTest : public DataTest {
 protected:
  // Four samples need 4 x 2 x 3 x 4 = 96 bytes as float32.
  void write_bytes() const {
    write_npy<uint8_t>("x.npy", "|u1", "4, 2, 3", std::vector<uint8_t>(24, 7));
    write_npy<int64_t>("y.npy", "<i8", "4,", {0, 1, 1, 0});
  }

  DataSettings settings(const std::string& more = "") const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\n{}", folder().string(), more));
  }

  static InputMemoryChoice choice(const DataSettings& settings, int64_t limit) {
    return choose_input_memory(settings, {.hard = {{1 << 30, "large"}, {limit, "small"}}, .available = std::nullopt});
  }
};

TEST_F(InputMemoryTest, IsMappedByAutoIfFloatsNeedMoreThanHalf) {
  write_bytes();
  EXPECT_EQ(choice(settings(), 192).memory, InputMemory::kResident);
  EXPECT_EQ(choice(settings(), 192).note, "");
  EXPECT_EQ(choice(settings(), 191).memory, InputMemory::kMapped);
  EXPECT_EQ(choice(settings(), 191).note,
            "inputs stay in x.npy and are read batch by batch, because they need 96 B in memory, more than half of "
            "it (data.memory: auto)");
}

TEST_F(InputMemoryTest, IsResidentIfAutoCannotMapTheFile) {
  write_bytes();
  EXPECT_EQ(choice(settings("placement: device"), 100).memory, InputMemory::kResident);
  write_npy<uint16_t>("x.npy", ">u2", "2, 1", {0, 0});
  EXPECT_EQ(choice(settings(), 10).memory, InputMemory::kResident);
  EXPECT_EQ(choice(settings(), 10).note,
            "x.npy needs 8 B in memory, more than half of it, but is not mapped because its byte order is not that "
            "of this machine: save it again with array.astype(array.dtype.newbyteorder('='))");
}

TEST_F(InputMemoryTest, LeavesBrokenFilesToTheLoader) {
  EXPECT_EQ(choice(settings(), 1).memory, InputMemory::kResident);
  write("x.npy", "no array");
  EXPECT_EQ(choice(settings(), 1).memory, InputMemory::kResident);
}

TEST_F(InputMemoryTest, IsWhatTheKeySays) {
  write_bytes();
  EXPECT_EQ(choice(settings("memory: resident"), 1).memory, InputMemory::kResident);
  EXPECT_EQ(choice(settings("memory: mapped"), 1 << 20).memory, InputMemory::kMapped);
}

TEST_F(InputMemoryTest, OfMappedInputsCountsNoBytes) {
  write_bytes();
  EXPECT_EQ(least_data_bytes(settings("memory: resident")), 128 + 32) << "the larger file";
  write_npy<uint8_t>("x.npy", "|u1", "4, 2, 30", std::vector<uint8_t>(240, 7));
  EXPECT_EQ(least_data_bytes(settings("memory: mapped")), 128 + 32) << "the targets";
}

TEST_F(InputMemoryTest, IsForNpyOnTheHost) {
  EXPECT_THAT(error_of(ExitCode::kUsage, [] { parse_settings("source: digits\nmemory: mapped"); }),
              testing::HasSubstr("memory is for source npy; digits does not use it: remove it"));
  EXPECT_THAT(error_of(ExitCode::kUsage, [&] { settings("memory: mapped\nplacement: device"); }),
              testing::HasSubstr("mapped inputs stay on the host: use placement: auto or host, or memory: resident"));
}

}  // namespace
}  // namespace rnnlab
