// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab {
namespace {

using Shape = std::vector<int64_t>;

TEST(CheckedNumBytes, MultipliesSizesAndElementWidth) {
  EXPECT_EQ(checked_num_bytes(Shape{2, 3}, ElementType::kF64), 48);
  EXPECT_EQ(checked_num_bytes(Shape{}, ElementType::kI16), 2);
  EXPECT_EQ(checked_num_bytes(Shape{0, 5}, ElementType::kU8), 0);
}

TEST(CheckedNumBytes, SeesAnOverflow) {
  constexpr int64_t kHuge = 0xFFFFFFFF;
  EXPECT_EQ(checked_num_bytes(Shape{kHuge, kHuge, kHuge}, ElementType::kU8), std::nullopt);
  EXPECT_EQ(checked_num_bytes(Shape{int64_t{1} << 60}, ElementType::kF64), std::nullopt);
  EXPECT_EQ(checked_num_bytes(Shape{kHuge, kHuge, kHuge, 0}, ElementType::kU8), 0);
}

TEST(Array, HandsOutTypedValues) {
  Array array{ElementType::kI16, {2}, std::vector<std::byte>(4)};
  array.values<int16_t>()[1] = -7;
  EXPECT_EQ(array.num_elements(), 2);
  EXPECT_EQ(std::as_const(array).values<int16_t>()[1], -7);
  EXPECT_THROW(array.values<double>(), InvariantError);
}

TEST(VisitValues, PassesTheSpanOfTheRightType) {
  Array array{ElementType::kF32, {3}, std::vector<std::byte>(12)};
  array.values<float>()[2] = 1.5F;
  EXPECT_EQ(visit_values(array, [](auto values) { return static_cast<double>(values[2]); }), 1.5);
}

TEST(ElementType, KnowsItsNameAndSize) {
  EXPECT_EQ(element_name(ElementType::kBool), "bool");
  EXPECT_EQ(element_name(ElementType::kF64), "f64");
  EXPECT_EQ(element_size(ElementType::kU16), 2);
}

TEST(FormatShape, JoinsTheSizes) { EXPECT_EQ(format_shape(Shape{60000, 28, 28}), "60000 x 28 x 28"); }

TEST(SwapBytes, TurnsEveryElementAround) {
  std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  swap_bytes(bytes, 2);
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{2}, std::byte{1}, std::byte{4}, std::byte{3}}));
}

TEST(AsciiImage, ScalesFromTheDarkestToTheBrightest) {
  EXPECT_EQ(ascii_image(std::vector<float>{-1, 0, 1, 3}, 2, 2), "  ::\n++@@\n");
}

TEST(AsciiImage, ShowsAnEvenImageAndWhatIsNotFinite) {
  EXPECT_EQ(ascii_image(std::vector<float>{5, 5, 5, 5}, 2, 2), "    \n    \n");
  EXPECT_EQ(ascii_image(std::vector<float>{NAN, INFINITY, -INFINITY, 1, 2, 3}, 2, 3), "??@@  \n  ++@@\n");
}

TEST(AsciiImage, GivesWideImagesOneCharacterAPixel) {
  EXPECT_EQ(ascii_image(std::vector<float>(80, 1), 1, 80), std::string(80, ' ') + "\n");
}

TEST(AsciiImage, AveragesImagesThatAreTooWide) {
  std::vector<float> pixels(2 * 100, 0);
  pixels[98] = pixels[99] = pixels[198] = pixels[199] = 1;
  EXPECT_EQ(ascii_image(pixels, 2, 100), std::string(49, ' ') + "@\n");
}

TEST(AsciiImage, PicksOneImageOfAnArray) {
  Array images{ElementType::kU8, {2, 1, 2}, std::vector<std::byte>(4)};
  images.values<uint8_t>()[3] = 255;
  EXPECT_EQ(ascii_image(images, 0), "    \n");
  EXPECT_EQ(ascii_image(images, 1), "  @@\n");
  EXPECT_THROW(ascii_image(Array{ElementType::kU8, {1}, std::vector<std::byte>(1)}, 0), InvariantError);
}

}  // namespace
}  // namespace rnnlab
