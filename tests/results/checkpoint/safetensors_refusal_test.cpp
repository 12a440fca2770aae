// SPDX-License-Identifier: Apache-2.0
// Tests every way in which a file can break the rules of safetensors, with the message of each.
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab::testing {
namespace {

std::string with_length(uint64_t length, const std::string& rest) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(length >> (8 * i) & 0xFF);
  return text + rest;
}

std::string file_of(const std::string& header, size_t buffer_bytes = 0) {
  return with_length(header.size(), header + std::string(buffer_bytes, '\0'));
}

void expect_bytes_refused(const std::vector<std::string>& files) {
  for (const std::string& bytes : files) {
    SCOPED_TRACE(bytes.substr(0, 200));
    expect_error(ExitCode::kCheckpoint, [&] { parse_safetensors(bytes, "x.safetensors"); });
  }
}

TEST(SafetensorsRefusal, OfAWrongLength) {
  expect_bytes_refused({"", "1234567", with_length(100'000'001, "{}"), with_length(100'000'000, "{}")});
}

TEST(SafetensorsRefusal, OfWhatIsNoJson) {
  expect_bytes_refused({"PK\3\4 and the rest", file_of(""), file_of(" {}"), file_of("[]"), file_of("{\"a\xFF\":1}"),
                        file_of(std::string("{}\0 ", 4)), file_of("{}}"), file_of("{\"a\":"), file_of("{} {}"),
                        file_of("{\"a\":" + std::string(1'000'000, '['))});
}

TEST(SafetensorsRefusal, OfAnUnknownDType) {
  for (const std::string dtype : {"\"F31\"", "\"f32\"", "7", "\"F8_E4M3\"", "\"F8_E5M2\"", "\"U64\"", "\"F4\""})
    expect_bytes_refused({file_of("{\"a\":{\"dtype\":" + dtype + ",\"shape\":[],\"data_offsets\":[0,1]}}", 1)});
}

TEST(SafetensorsRefusal, OfAWrongShape) {
  for (const std::string shape : {"2", "[-2]", "[2.0]", "[9223372036854775808]", "[[2]]", "[null]", "[3]",
                                  "[4294967296, 4294967296]", "[9223372036854775807, 0]"})
    expect_bytes_refused({file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0,8]}}", 8)});
}

TEST(SafetensorsRefusal, OfWrongOffsets) {
  for (const std::string offsets :
       {"{}", "[0]", "[0, 4, 4]", "[true, 4]", "[0, 18446744073709551616]", "[1, 5]", "[0, 18446744073709551615]"})
    expect_bytes_refused({file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + offsets + "}}", 4)});
}

std::string two_tensors(const std::string& first, const std::string& second) {
  const auto tensor = [](const std::string& offsets) {
    return "{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + offsets + "}";
  };
  return "{\"a\":" + tensor(first) + ",\"b\":" + tensor(second) + "}";
}

TEST(SafetensorsRefusal, OfTensorsThatDoNotFillTheFile) {
  EXPECT_EQ(parse_safetensors(file_of(two_tensors("[2,4]", "[0,2]"), 4), "x").tensors.front().spec.name, "b");
  expect_bytes_refused({file_of(two_tensors("[0,2]", "[1,3]"), 3), file_of(two_tensors("[0,2]", "[3,5]"), 5),
                        file_of(two_tensors("[0,2]", "[2,1]"), 4), file_of(two_tensors("[0,2]", "[2,4]"), 3),
                        file_of(two_tensors("[0,2]", "[2,4]"), 5), file_of("{}", 1)});
}

TEST(SafetensorsRefusal, OfDuplicates) {
  const std::string tensor = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_bytes_refused({file_of("{\"a\":" + tensor + ",\"b\":" + tensor + ",\"a\":" + tensor + "}"),
                        file_of(R"({"a":{"dtype":"U8","shape":[0],"dtype":"U8"}})"),
                        file_of(R"({"__metadata__":{"k":"1","k":"2"}})"),
                        file_of(R"({"__metadata__":{},"__metadata__":{}})")});
}

TEST(SafetensorsRefusal, OfMissingAndUnknownKeys) {
  expect_bytes_refused({file_of(R"({"a":{"shape":[0],"data_offsets":[0,0]}})"),
                        file_of(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"),
                        file_of(R"({"a":{"dtype":"U8","shape":[0]}})"),
                        file_of(R"({"a":{"dtype":"U8","strides":[0]}})"), file_of(R"({"a":null})")});
}

TEST(SafetensorsRefusal, OfMetadataThatIsNoText) {
  expect_bytes_refused({file_of(R"({"__metadata__":[]})"), file_of(R"({"__metadata__":{"k":1}})"),
                        file_of(R"({"__metadata__":{"k":{}}})")});
}

TEST(SafetensorsRefusal, OfABoolThatIsNeither) {
  std::string bytes = file_of(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 3);
  bytes.back() = 2;
  expect_bytes_refused({bytes});
}

TEST(SafetensorsRefusal, ShowsStrangeNamesSafely) { expect_bytes_refused({file_of("{\"\\u001b[2J\\n\":7}")}); }

}  // namespace
}  // namespace rnnlab::testing
