#include "data/readers/ascii_image.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab {
namespace {

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
