// Runs each family of kernels of `persistent`, for each cell and class of numbers, forward and backward once in few
// steps, because compute-sanitizer is slow. Each case is a separate test, so that progress is visible. Values are
// checked in other tests.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>
#include <utility>
#include <vector>

#include "recurrent/on_cuda.h"
#include "recurrent/persistent_check.h"

namespace rnnlab {
namespace {

// Of one family of kernels, a layer.
struct Family {
  NumberClass numbers;
  Cell cell = Cell::kLstm;
  int64_t hidden_size = 0;
  int64_t batch_size = 0;
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << fmt::format("{}_{}_{}_{}", family.numbers.name, config::name_of(family.cell), family.hidden_size,
                      family.batch_size);
}

// Sizes and batches that take clusters of one team, of smaller blocks and of two teams; and, over the whole GPU, of
// each size of its kernels groups of 16 sequences, of 32, and of two times 32 in turns.
std::vector<Family> families() {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {
      {72, 9},    {256, 9},  {512, 9},   {512, 121}, {512, 250},  {768, 16},  {768, 64},  {768, 96},
      {768, 250}, {1024, 9}, {1024, 64}, {1024, 70}, {1024, 130}, {1536, 16}, {1536, 20}, {1536, 40}};
  std::vector<Family> list;
  for (const NumberClass& numbers : kNumberClasses)
    for (const auto& [hidden_size, batch_size] : sizes)
      for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
        if (hidden_size <= largest_hidden_size(numbers)) list.push_back({numbers, cell, hidden_size, batch_size});
  return list;
}

class PersistentFamilies : public ByOwnKernels, public testing::WithParamInterface<Family> {};
INSTANTIATE_TEST_SUITE_P(All, PersistentFamilies, testing::ValuesIn(families()), testing::PrintToStringParamName());

TEST_P(PersistentFamilies, RunOnce) {
  const auto& [numbers, cell, hidden_size, batch_size] = GetParam();
  const TensorFloat32 products(numbers);
  const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 8, .hidden_size = hidden_size});
  layer->to(at::kCUDA, numbers.type);
  layer->forward(at::randn({3, batch_size, 8}, at::device(at::kCUDA)).to(numbers.type)).output.sum().backward();
  for (const at::Tensor& parameter : layer->parameters()) EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace rnnlab
