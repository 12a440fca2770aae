// SPDX-License-Identifier: Apache-2.0
// Tests inputs of bytes that are not from 0 to 255: data.byte_maximum.
#include <fmt/format.h>

#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

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
    expect_golden(error_of(ExitCode::kData, [&] { inputs(fmt::format("memory: {}\n", memory)); }));
}

TEST_F(ByteRange, IsSetByAKey) {
  write_bytes(16);
  EXPECT_THAT(inputs("byte_maximum: 16\n"), ElementsAre(0, 1, .5, .25));
  EXPECT_THAT(inputs("normalize: none\n"), ElementsAre(0, 16, 8, 4));
  EXPECT_THAT(inputs("normalize: unit\n"), ElementsAre(0, 16.f / 255, 8.f / 255, 4.f / 255));
  EXPECT_THAT(inputs("byte_maximum: 255\n"), ElementsAre(0, 16.f / 255, 8.f / 255, 4.f / 255));
  EXPECT_THAT(load_dataset(settings("byte_maximum: 16\n")).notes, Contains("inputs divided by 16"));
  expect_golden(error_of(ExitCode::kData, [&] { inputs("byte_maximum: 15\n"); }));
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
  expect_golden(error_of(ExitCode::kData, [&] {
    load_for_inference(settings("byte_maximum: 16\n"), trained, DataPart::kAll, Targets::kIfPresent);
  }));
}

TEST_F(ByteRange, IsForBytesThatAreDivided) {
  write_npy<float>("x.npy", "<f4", "2, 2", {0, 1, 2, 3});
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  EXPECT_THAT(error_of(ExitCode::kData, [&] { inputs("byte_maximum: 16\n"); }), HasSubstr("is for bytes (u8)"));
  expect_golden(error_of(ExitCode::kUsage, [&] { settings("byte_maximum: 16\nnormalize: none\n"); }));
  expect_golden(
      error_of(ExitCode::kUsage, [&] { parse_settings("source: mnist\nbyte_maximum: 16\nnormalize: standard\n"); }));
}

TEST_F(ByteRange, IsShownByInspect) {
  write_bytes(16);
  const auto json = inspection_json(inspect_file(path("x.npy")));
  expect_golden(json["hints"].dump());
  EXPECT_THAT(json["yaml"].dump(), HasSubstr("byte_maximum: 16"));
}

}  // namespace
}  // namespace rnnlab
