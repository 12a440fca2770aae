// SPDX-License-Identifier: Apache-2.0
#include "train/weights/tensor_reader.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "base/expect_error.h"

namespace rnnlab {
namespace {

constexpr std::array kEveryType = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                   at::kInt,    at::kShort, at::kChar, at::kByte,     at::kBool};

TEST(TensorBytes, OfEveryTypeComeBack) {
  for (const at::ScalarType type : kEveryType) {
    SCOPED_TRACE(at::toString(type));
    const NamedTensor tensor{"layer.weight", at::arange(6).to(type).view({2, 3})};
    const TensorView view = view_of(tensor);
    EXPECT_EQ(view.spec.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(view.bytes.data(), static_cast<const std::byte*>(tensor.tensor.const_data_ptr())) << "not a copy";
    const NamedTensor back = to_tensor(view);
    EXPECT_EQ(back.name, "layer.weight");
    EXPECT_EQ(back.tensor.scalar_type(), type);
    EXPECT_TRUE(at::equal(back.tensor, tensor.tensor));
    EXPECT_NE(back.tensor.const_data_ptr(), tensor.tensor.const_data_ptr());
  }
}

TEST(TensorBytes, KeepEveryBitOfNumbersThatCompareOddly) {
  const auto odd = at::full({1}, -0.0, at::kFloat);
  const auto nan = at::full({1}, std::numeric_limits<float>::quiet_NaN(), at::kFloat);
  for (const at::Tensor& tensor : {odd, nan}) {
    const auto back = to_tensor(view_of({"x", tensor}));
    EXPECT_EQ(std::memcmp(back.tensor.const_data_ptr(), tensor.const_data_ptr(), sizeof(float)), 0);
  }
}

TEST(TensorBytes, OfScalarsAndOfNothing) {
  const auto scalar = to_tensor(view_of({"step", at::full({}, 3.0, at::kFloat)}));
  EXPECT_EQ(scalar.tensor.dim(), 0);
  EXPECT_EQ(scalar.tensor.item<float>(), 3.0F);
  const auto nothing = to_tensor(view_of({"none", at::empty({0, 4})}));
  EXPECT_EQ(nothing.tensor.sizes(), (std::vector<int64_t>{0, 4}));
}

TEST(TensorBytes, MayLieAnywhereInAFile) {
  const std::vector<float> numbers = {1.0F, 2.5F};
  std::vector<std::byte> bytes(1 + sizeof(float) * numbers.size());
  std::memcpy(bytes.data() + 1, numbers.data(), sizeof(float) * numbers.size());
  const auto tensor = to_tensor({{"x", DType::kF32, {2}}, std::span(bytes).subspan(1)});
  EXPECT_EQ(tensor.tensor[1].item<float>(), 2.5F);
}

TEST(TensorBytesDeath, AreNotThoseOfATensorThatIsScattered) {
  EXPECT_ANY_THROW(view_of({"turned", at::empty({2, 3}).t()}));
}

TensorFile file_of(const std::vector<NamedTensor>& tensors) {
  return {.name = "folder/a.st", .tensors = views_of(tensors), .metadata = {{"key", "value"}}, .bytes = nullptr};
}

TEST(WithFloat32, ConvertsTheOtherTypesOfFloats) {
  const at::Tensor numbers = at::arange(6, at::kFloat).reshape({2, 3}) - 2.5;
  for (const auto& [type, note] :
       {std::pair(at::kDouble, "a.st: 1 tensor of F64 converted to F32, which rounds those of F64"),
        std::pair(at::kHalf, "a.st: 1 tensor of F16 converted to F32"),
        std::pair(at::kBFloat16, "a.st: 1 tensor of BF16 converted to F32")}) {
    const std::vector<NamedTensor> tensors = {{"a", numbers.to(type)}, {"b", numbers}, {"c", numbers.to(at::kLong)}};
    std::vector<std::string> notes;
    const TensorFile converted = with_float32(file_of(tensors), notes);
    EXPECT_EQ(notes, std::vector<std::string>{note});
    ASSERT_EQ(converted.tensors.size(), 3u);
    EXPECT_EQ(converted.metadata.at("key"), "value");
    for (const size_t i : {0, 1}) EXPECT_TRUE(at::equal(to_tensor(converted.tensors[i]).tensor, numbers)) << i;
    EXPECT_EQ(converted.tensors[2].spec.dtype, DType::kI64) << "a whole number is no weight";
  }
  std::vector<std::string> notes;
  const std::vector<NamedTensor> tensors = {{"a", numbers}};
  with_float32(file_of(tensors), notes);
  EXPECT_TRUE(notes.empty());
}

TEST(WithFloat32, RefusesNumbersThatFloat32CannotHold) {
  std::vector<std::string> notes;
  const std::vector<NamedTensor> tensors = {{"a", at::full({2}, 1e300, at::kDouble)}};
  testing::expect_error(ExitCode::kCheckpoint, [&] { with_float32(file_of(tensors), notes); });
}

}  // namespace
}  // namespace rnnlab
