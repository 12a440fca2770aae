// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/dropout.h>
#include <c10/util/TypeCast.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "layers/cpu_buffer_pool.h"
#include "layers/kernels/simd_steps.h"

namespace rnnlab {
namespace {

// The number of blocks of random words that are drawn together.
constexpr int64_t kBlocksTogether = 32;
constexpr int64_t kDrawnTogether = kBlocksTogether * kernels::kWordsOfBlock;

uint64_t draw_key() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

// Draws the same words as SimdSteps::random_words, which needs AVX2.
void draw_plainly(uint64_t key, uint64_t first_block, uint32_t* words) {
  for (int64_t i = 0; i < kBlocksTogether * kernels::kCountersOfBlock; ++i) {
    const int64_t block = i / kernels::kCountersOfBlock, lane = i % kernels::kCountersOfBlock;
    at::Philox4_32 engine(key, /*subsequence=*/0, first_block * kernels::kCountersOfBlock + static_cast<uint64_t>(i));
    for (int64_t j = 0; j < 4; ++j)
      words[block * kernels::kWordsOfBlock + j * kernels::kCountersOfBlock + lane] = engine();
  }
}

void draw(uint64_t key, int64_t first_block, uint32_t* words) {
  const auto first = static_cast<uint64_t>(first_block);
  const kernels::SimdSteps* steps = kernels::simd_steps();
  if (steps == nullptr) return draw_plainly(key, first, words);
  steps->random_words(key, first, kBlocksTogether, words);
}

// Sets each element to 0 or 1 / (1 - probability), by one random word for each element.
template <class Element>
void draw_mask(Element* mask, int64_t count, uint64_t key, double probability) {
  const auto bound = static_cast<uint32_t>(std::ldexp(probability, 32));
  const auto kept = c10::convert<Element>(1 / (1 - probability));
  at::parallel_for(0, (count + kDrawnTogether - 1) / kDrawnTogether, 1, [&](int64_t first, int64_t last) {
    std::array<uint32_t, kDrawnTogether> words;
    for (int64_t i = first; i < last; ++i) {
      draw(key, i * kBlocksTogether, words.data());
      const int64_t size = std::min(kDrawnTogether, count - i * kDrawnTogether);
      std::transform(words.begin(), words.begin() + size, mask + i * kDrawnTogether,
                     [&](uint32_t word) { return word < bound ? static_cast<Element>(0) : kept; });
    }
  });
}

at::Tensor mask_for(const at::Tensor& values, double probability) {
  const at::Tensor mask = empty_pooled(values.sizes(), values.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, mask.scalar_type(), "draw_mask", [&] {
    draw_mask(mask.mutable_data_ptr<scalar_t>(), mask.numel(), draw_key(), probability);
  });
  return mask;
}

}  // namespace

at::Tensor apply_dropout(const at::Tensor& values, double probability) {
  if (!values.is_cpu()) return at::dropout(values, probability, /*train=*/true);
  return values * mask_for(values, probability);
}

}  // namespace rnnlab
