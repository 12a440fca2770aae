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

void expect_bytes_refused(const std::string& bytes, const std::string& message) {
  SCOPED_TRACE(bytes.substr(0, 200));
  expect_error(ExitCode::kCheckpoint, "x.safetensors: " + message, [&] { parse_safetensors(bytes, "x.safetensors"); });
}

TEST(SafetensorsRefusal, OfAWrongLength) {
  expect_bytes_refused("", "0 bytes, expected at least 8; it is not a safetensors file, or was cut off");
  expect_bytes_refused("1234567", "7 bytes, expected at least 8; it is not a safetensors file, or was cut off");
  expect_bytes_refused(
      with_length(100'000'001, "{}"),
      "its declared header size is 100000001 bytes, expected at most 100000000; it is not a safetensors file");
  expect_bytes_refused(with_length(100'000'000, "{}"),
                       "its declared header size is 100000000 bytes, but 2 follow; the file was cut off");
}

TEST(SafetensorsRefusal, OfWhatIsNoJson) {
  expect_bytes_refused(
      "PK\3\4 and the rest",
      "a ZIP archive, such as torch.save writes, expected a safetensors file: write the state_dict with "
      "safetensors.torch.save_file");
  expect_bytes_refused(file_of(""), "its header begins with '', expected '{'; it is not a safetensors file");
  expect_bytes_refused(file_of(" {}"), "its header begins with ' ', expected '{'; it is not a safetensors file");
  expect_bytes_refused(file_of("[]"), "its header begins with '[', expected '{'; it is not a safetensors file");
  expect_bytes_refused(file_of("{\"a\xFF\":1}"), "its header is not UTF-8 at byte 11 of the file; the file is damaged");
  expect_bytes_refused(file_of(std::string("{}\0 ", 4)),
                       "its header has a zero at byte 10 of the file; the file is damaged");
  expect_bytes_refused(file_of("{}}"), "its header is not valid JSON at byte 10 of the file; the file is damaged");
  expect_bytes_refused(file_of("{\"a\":"), "its header is not valid JSON at byte 13 of the file; the file is damaged");
  expect_bytes_refused(file_of("{} {}"), "its header is not valid JSON at byte 11 of the file; the file is damaged");
  expect_bytes_refused(file_of("{\"a\":" + std::string(1'000'000, '[')),
                       "tensor 'a' is a list, expected an object with dtype, shape and data_offsets");
}

TEST(SafetensorsRefusal, OfAnUnknownDType) {
  const auto with_dtype = [](const std::string& dtype) {
    return file_of("{\"a\":{\"dtype\":" + dtype + ",\"shape\":[],\"data_offsets\":[0,1]}}", 1);
  };
  const std::string known = "F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL";
  expect_bytes_refused(with_dtype("\"F31\""), "tensor 'a': dtype is 'F31', expected " + known);
  expect_bytes_refused(with_dtype("\"f32\""), "tensor 'a': dtype is 'f32', expected " + known);
  expect_bytes_refused(with_dtype("7"), "tensor 'a': dtype is 7, expected " + known);
  for (const std::string foreign : {"F8_E4M3", "F8_E5M2", "U64", "F4"})
    expect_bytes_refused(
        with_dtype("\"" + foreign + "\""),
        "tensor 'a': dtype is " + foreign + ", which rnnlab cannot compute with; convert it to " + known);
}

TEST(SafetensorsRefusal, OfAWrongShape) {
  const auto with_shape = [](const std::string& shape) {
    return file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0,8]}}", 8);
  };
  expect_bytes_refused(with_shape("2"), "tensor 'a': shape is 2, expected a list of sizes");
  expect_bytes_refused(with_shape("[-2]"), "tensor 'a': shape holds -2, expected whole numbers below 2^63");
  expect_bytes_refused(with_shape("[2.0]"), "tensor 'a': shape holds 2.0, expected whole numbers below 2^63");
  expect_bytes_refused(with_shape("[9223372036854775808]"),
                       "tensor 'a': shape holds 9223372036854775808, expected whole numbers below 2^63");
  expect_bytes_refused(with_shape("[[2]]"), "tensor 'a': shape holds a list, expected whole numbers below 2^63");
  expect_bytes_refused(with_shape("[null]"), "tensor 'a': shape holds null, expected whole numbers below 2^63");
  expect_bytes_refused(with_shape("[3]"), "tensor 'a': data_offsets [0, 8] hold 8 bytes, expected 12 for F32 [3]");
  expect_bytes_refused(with_shape("[4294967296, 4294967296]"),
                       "tensor 'a': the bytes of shape '[4294967296, 4294967296]' are more than 2^63");
  expect_bytes_refused(with_shape("[9223372036854775807, 0]"),
                       "tensor 'a': the bytes of shape '[9223372036854775807, 0]' are more than 2^63");
}

TEST(SafetensorsRefusal, OfWrongOffsets) {
  const auto with_offsets = [](const std::string& offsets) {
    return file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + offsets + "}}", 4);
  };
  const std::string wanted = ", expected the two whole numbers [begin, end]";
  expect_bytes_refused(with_offsets("{}"), "tensor 'a': data_offsets is an object" + wanted);
  expect_bytes_refused(with_offsets("[0]"), "tensor 'a': data_offsets holds less" + wanted);
  expect_bytes_refused(with_offsets("[0, 4, 4]"), "tensor 'a': data_offsets holds a third, 4" + wanted);
  expect_bytes_refused(with_offsets("[true, 4]"), "tensor 'a': data_offsets holds true" + wanted);
  expect_bytes_refused(with_offsets("[0, 18446744073709551616]"),
                       "tensor 'a': data_offsets holds 18446744073709551616" + wanted);
  expect_bytes_refused(with_offsets("[1, 5]"),
                       "tensor 'a': data_offsets begin at 1, expected 0; tensors may not leave a hole");
  expect_bytes_refused(
      with_offsets("[0, 18446744073709551615]"),
      "tensor 'a': data_offsets [0, 18446744073709551615] hold 18446744073709551615 bytes, expected 4 for U8 [4]");
}

std::string two_tensors(const std::string& first, const std::string& second) {
  const auto tensor = [](const std::string& offsets) {
    return "{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + offsets + "}";
  };
  return "{\"a\":" + tensor(first) + ",\"b\":" + tensor(second) + "}";
}

TEST(SafetensorsRefusal, OfTensorsThatDoNotFillTheFile) {
  EXPECT_EQ(parse_safetensors(file_of(two_tensors("[2,4]", "[0,2]"), 4), "x").tensors.front().spec.name, "b");
  expect_bytes_refused(file_of(two_tensors("[0,2]", "[1,3]"), 3),
                       "tensor 'b': data_offsets begin at 1, expected 2; tensors may not overlap");
  expect_bytes_refused(file_of(two_tensors("[0,2]", "[3,5]"), 5),
                       "tensor 'b': data_offsets begin at 3, expected 2; tensors may not leave a hole");
  expect_bytes_refused(file_of(two_tensors("[0,2]", "[2,1]"), 4),
                       "tensor 'b': data_offsets [2, 1] end before they begin");
  expect_bytes_refused(file_of(two_tensors("[0,2]", "[2,4]"), 3),
                       "3 bytes follow the header, expected 4 for its tensors; the file was cut off");
  expect_bytes_refused(file_of(two_tensors("[0,2]", "[2,4]"), 5),
                       "5 bytes follow the header, expected 4 for its tensors; the file has extra data after its end");
  expect_bytes_refused(file_of("{}", 1),
                       "1 bytes follow the header, expected 0 for its tensors; the file has extra data after its end");
}

TEST(SafetensorsRefusal, OfDuplicates) {
  const std::string tensor = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_bytes_refused(file_of("{\"a\":" + tensor + ",\"b\":" + tensor + ",\"a\":" + tensor + "}"),
                       "tensor 'a' occurs twice");
  expect_bytes_refused(file_of(R"({"a":{"dtype":"U8","shape":[0],"dtype":"U8"}})"), "tensor 'a': dtype occurs twice");
  expect_bytes_refused(file_of(R"({"__metadata__":{"k":"1","k":"2"}})"), "__metadata__: 'k' occurs twice");
  expect_bytes_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), "__metadata__ occurs twice");
}

TEST(SafetensorsRefusal, OfMissingAndUnknownKeys) {
  expect_bytes_refused(file_of(R"({"a":{"shape":[0],"data_offsets":[0,0]}})"), "tensor 'a': dtype is missing");
  expect_bytes_refused(file_of(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"), "tensor 'a': shape is missing");
  expect_bytes_refused(file_of(R"({"a":{"dtype":"U8","shape":[0]}})"), "tensor 'a': data_offsets is missing");
  expect_bytes_refused(file_of(R"({"a":{"dtype":"U8","strides":[0]}})"),
                       "tensor 'a' has an unknown key 'strides', expected dtype, shape and data_offsets");
  expect_bytes_refused(file_of(R"({"a":null})"),
                       "tensor 'a' is null, expected an object with dtype, shape and data_offsets");
}

TEST(SafetensorsRefusal, OfMetadataThatIsNoText) {
  expect_bytes_refused(file_of(R"({"__metadata__":[]})"), "__metadata__ is a list, expected an object of strings");
  expect_bytes_refused(file_of(R"({"__metadata__":{"k":1}})"), "__metadata__: 'k' is 1, expected a string");
  expect_bytes_refused(file_of(R"({"__metadata__":{"k":{}}})"), "__metadata__: 'k' is an object, expected a string");
}

TEST(SafetensorsRefusal, OfABoolThatIsNeither) {
  std::string bytes = file_of(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 3);
  bytes.back() = 2;
  expect_bytes_refused(bytes, "tensor 'a': BOOL number 2 is 2, expected 0 or 1");
}

TEST(SafetensorsRefusal, ShowsStrangeNamesSafely) {
  expect_bytes_refused(file_of("{\"\\u001b[2J\\n\":7}"),
                       "tensor '\\x1b[2J\\x0a' is 7, expected an object with dtype, shape and data_offsets");
}

}  // namespace
}  // namespace rnnlab::testing
