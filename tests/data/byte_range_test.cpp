// SPDX-License-Identifier: Apache-2.0
// Tests inputs of bytes that are not from 0 to 255: data.byte_maximum.
#include <fmt/format.h>

#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class ByteRange : public DataTest {
 protected:
  void write_bytes(uint8_t largest) const {
    write_npy<uint8_t>("x.npy", "|u1", "2, 2", {0, largest, 8, 4});
    write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  }
  DataSettings settings(const std::string& more) const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nnum_valid: 0\n"
                    "split: ordered\n{}",
                    folder().string(), more));
  }
  std::vector<float> inputs(const std::string& more) const {
    return values_of<float>(load_dataset(settings(more)).train.inputs);
  }
};

TEST_F(ByteRange, IsRefusedWhereItIsNotThatOfImages) {
  write_bytes(16);
  for (const char* memory : {"resident", "mapped"})
    EXPECT_EQ(error_of(ExitCode::kData, [&] { inputs(fmt::format("memory: {}\n", memory)); }),
              "{}/x.npy: the bytes are from 0 to 16, but by default inputs of bytes are divided by 255: set "
              "data.byte_maximum: 16 to divide them by that (255 to divide them by 255), or data.normalize: standard, "
              "minmax or none");
}

TEST_F(ByteRange, IsSetByAKey) {
  write_bytes(16);
  EXPECT_THAT(inputs("byte_maximum: 16\n"), ElementsAre(0, 1, .5, .25));
  EXPECT_THAT(inputs("normalize: none\n"), ElementsAre(0, 16, 8, 4));
  EXPECT_THAT(inputs("normalize: unit\n"), ElementsAre(0, 16.f / 255, 8.f / 255, 4.f / 255));
  EXPECT_THAT(inputs("byte_maximum: 255\n"), ElementsAre(0, 16.f / 255, 8.f / 255, 4.f / 255));
  EXPECT_THAT(load_dataset(settings("byte_maximum: 16\n")).notes, Contains("inputs divided by 16"));
  EXPECT_THAT(error_of(ExitCode::kData, [&] { inputs("byte_maximum: 15\n"); }),
              HasSubstr("sample 0 (counted from 0) has a byte larger than data.byte_maximum, 15: use 16"));
}

TEST_F(ByteRange, OfImagesStaysAsItIs) {
  write_bytes(200);
  EXPECT_THAT(inputs(""), ElementsAre(0, 200.f / 255, 8.f / 255, 4.f / 255));
}

TEST_F(ByteRange, IsThatOfTrainingForOtherFiles) {
  write_bytes(16);
  const Dataset trained = load_dataset(settings("byte_maximum: 16\n"));
  write_bytes(12);
  const auto used = load_for_inference(settings("byte_maximum: 16\n"), trained, DataPart::kAll, Targets::kIfPresent);
  EXPECT_THAT(values_of<float>(used.samples.inputs), ElementsAre(0, .75, .5, .25));
  write_bytes(200);
  EXPECT_THAT(
      error_of(
          ExitCode::kData,
          [&] { load_for_inference(settings("byte_maximum: 16\n"), trained, DataPart::kAll, Targets::kIfPresent); }),
      HasSubstr("data.byte_maximum, 16: the model was trained on bytes from 0 to 16; use data like those of "
                "training"));
}

TEST_F(ByteRange, IsForBytesThatAreDivided) {
  write_npy<float>("x.npy", "<f4", "2, 2", {0, 1, 2, 3});
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  EXPECT_THAT(error_of(ExitCode::kData, [&] { inputs("byte_maximum: 16\n"); }), HasSubstr("is for bytes (u8)"));
  EXPECT_THAT(error_of(ExitCode::kUsage, [&] { settings("byte_maximum: 16\nnormalize: none\n"); }),
              HasSubstr("only normalize: unit divides bytes"));
  EXPECT_THAT(
      error_of(ExitCode::kUsage, [&] { parse_settings("source: mnist\nbyte_maximum: 16\nnormalize: standard\n"); }),
      HasSubstr("only normalize: unit divides bytes"));
}

TEST_F(ByteRange, IsShownByInspect) {
  write_bytes(16);
  const auto json = inspection_json(inspect_file(path("x.npy")));
  EXPECT_THAT(json["hints"].dump(), HasSubstr("the bytes are from 0 to 16, not to 255"));
  EXPECT_THAT(json["yaml"].dump(), HasSubstr("byte_maximum: 16"));
}

}  // namespace
}  // namespace rnnlab
