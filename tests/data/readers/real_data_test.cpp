// SPDX-License-Identifier: Apache-2.0
// Tests the readers on data sets that are in wide use. Needs $RNNLAB_DATA, a folder with mnist/ and tinyshakespeare/.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "data/readers/array.h"
#include "data/readers/text_file.h"

namespace rnnlab {
namespace {

class RealDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("RNNLAB_DATA");
    if (folder == nullptr) GTEST_SKIP() << "set RNNLAB_DATA to run this test";
    folder_ = folder;
  }

  std::filesystem::path folder_;
};

TEST_F(RealDataTest, ReadsMnistsImages) {
  const Array images = read_idx(folder_ / "mnist/train-images-idx3-ubyte.gz");
  EXPECT_EQ(images.type, ElementType::kU8);
  EXPECT_EQ(images.shape, (std::vector<int64_t>{60000, 28, 28}));
  const auto pixels = images.values<uint8_t>();
  const double mean = std::accumulate(pixels.begin(), pixels.end(), 0.) / static_cast<double>(pixels.size()) / 255;
  EXPECT_NEAR(mean, 0.1307, 0.0001);
}

TEST_F(RealDataTest, ReadsMnistsLabels) {
  const Array labels = read_idx(folder_ / "mnist/t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(labels.shape, std::vector<int64_t>{10000});
  EXPECT_EQ(labels.values<uint8_t>()[0], 7);
}

TEST_F(RealDataTest, ReadsTinyShakespeare) {
  const Text text = read_text(folder_ / "tinyshakespeare/input.txt", TextUnit::kCodePoint);
  EXPECT_EQ(text.tokens.size(), 1'115'394u);
  EXPECT_EQ(text.vocabulary.size(), 65u);
  EXPECT_EQ(text.vocabulary[0], "\n");
}

}  // namespace
}  // namespace rnnlab
