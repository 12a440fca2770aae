// SPDX-License-Identifier: Apache-2.0
// Tests manipulated files of weights: for any names, shapes and types, reading returns weights that every layout can
// represent, or throws one clear refusal.
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.h"
#include "layers/cells/cell.h"
#include "train/weights/layouts.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

class Tampering {
 public:
  explicit Tampering(uint32_t seed) : random_(seed) {}

  void change(std::vector<NamedTensor>& tensors) {
    if (tensors.empty()) return;  // a cell of xlstm has two tensors, which three changes can erase
    NamedTensor& tensor = tensors[below(tensors.size())];
    switch (below(5)) {
      case 0:
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(&tensor - tensors.data()));
        break;
      case 1:
        tensor.tensor = at::zeros(strange_shape());
        break;
      case 2:
        tensor.tensor = tensor.tensor.to(at::kDouble);
        break;
      case 3:
        tensor.name = tampered(tensor.name);
        break;
      default:
        tensors.push_back({tampered(tensor.name), tensor.tensor});
    }
  }

 private:
  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

  std::vector<int64_t> strange_shape() {
    std::vector<int64_t> shape(below(4));
    for (int64_t& size : shape) size = static_cast<int64_t>(below(14));
    return shape;
  }

  std::string tampered(std::string name) {
    constexpr const char* kPieces[] = {"", "/", "_1", "_", "0", "9", "forward_", "backward_", "/kernel", "_reverse"};
    const size_t at = below(name.size() + 1);
    return name.replace(at, below(6), kPieces[below(std::size(kPieces))]);
  }

  std::mt19937 random_;
};

// "" where it is read, and every layout can say it or refuses to.
std::string refusal_of(const TensorFile& file) {
  const auto layout = layout_of(file);
  if (!layout) return "no layout";
  try {
    const NetworkWeights network = read_network(file, *layout);
    const bool is_in_libraries = info_of(network.options.cell).library.has_value();
    for (const Layout other : written_layouts())
      if (is_in_libraries || other == Layout::kPyTorch) export_tensors(network, other);
    return "";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint) << error.what();
    return error.what();
  }
}

TEST(StrangeFiles, AreReadOrRefusedButNeverAnythingElse) {
  int num_read = 0;
  int num_refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RNNLAB_SOURCE_DIR "/tests/train/weights/data")) {
    const TensorFile golden = read_safetensors(entry.path());
    std::vector<NamedTensor> whole = to_tensors(golden.tensors);
    std::erase_if(whole, [](const NamedTensor& tensor) { return tensor.name.starts_with("golden."); });
    for (uint32_t seed = 0; seed < 300; ++seed) {
      SCOPED_TRACE(entry.path().string() + " with seed " + std::to_string(seed));
      std::vector<NamedTensor> tensors = whole;
      Tampering tampering(seed);
      for (uint32_t i = 0; i <= seed % 3; ++i) tampering.change(tensors);
      const std::string refusal =
          refusal_of({.name = "a", .tensors = views_of(tensors), .metadata = {}, .bytes = nullptr});
      ++(refusal.empty() ? num_read : num_refused);
    }
  }
  EXPECT_GT(num_refused, 6000) << "of 9000";
  EXPECT_GT(num_read, 10) << "some names may change without an effect";
}

}  // namespace
}  // namespace rnnlab
