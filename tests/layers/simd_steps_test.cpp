// SPDX-License-Identifier: Apache-2.0
// Tests the functions of each instruction set of this processor; program/step_code_test.cpp tests whole steps.
#include "layers/kernels/simd_steps.h"

#include <ATen/core/PhiloxRNGEngine.h>
#include <c10/util/BFloat16.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "layers/program/step_code.h"

namespace rnnlab::kernels {
namespace {

std::vector<const SimdSteps*> all_steps() {
  std::vector<const SimdSteps*> all;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&avx2_steps());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    all.push_back(&avx512_steps());
  if (simd_steps() == &avx512_bf16_steps()) all.push_back(simd_steps());
  return all;
}

std::string name_of_steps(const ::testing::TestParamInfo<const SimdSteps*>& tested) {
  if (tested.param == &avx2_steps()) return "avx2";
  return tested.param == &avx512_steps() ? "avx512" : "avx512_bf16";
}

class Simd : public ::testing::TestWithParam<const SimdSteps*> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Simd);
INSTANTIATE_TEST_SUITE_P(All, Simd, ::testing::ValuesIn(all_steps()), name_of_steps);

// Returns the error in units of the last place of the float32 nearest to the true value.
double ulps(float got, double wanted) {
  const auto nearest = static_cast<float>(wanted);
  const double unit = static_cast<double>(std::nextafter(std::abs(nearest), INFINITY)) - std::abs(nearest);
  return std::abs(static_cast<double>(got) - wanted) / unit;
}

// Every 1/8192 from -limit to limit, then ever smaller numbers of both signs.
std::vector<float> sweep(float limit) {
  std::vector<float> values;
  for (float x = -limit; x <= limit; x += 1.0F / 8192) values.push_back(x);
  for (float x = 1; x > 1e-30F; x *= 0.97F) values.insert(values.end(), {x, -x});
  return values;
}

// Returns the hidden states of a cell with one gate for these sums.
std::vector<float> hidden_by(const SimdSteps& steps, const char* equation, const std::vector<float>& values) {
  const StepCode& code = step_code_of(program_of({.gates = {"n"}, .states = {"h"}, .equations = equation}));
  const auto count = static_cast<int64_t>(values.size());
  const std::vector<float> zeros(values.size());
  std::vector<float> hidden(values.size()), kept(values.size());
  const ProgramStep work = {
      .step = {.batch_size = 1, .hidden_size = count},
      .columns = code.columns,
      .instructions = code.forward.data(),
      .num_instructions = std::ssize(code.forward),
      .hidden_after = hidden.data(),
      .kept = kept.data(),
      .products = {
          .input = values.data(), .recurrent = zeros.data(), .bias_ih = zeros.data(), .bias_hh = zeros.data()}};
  steps.run(work, Sums{}, Part{{0, 1}, {0, count}});
  return hidden;
}

std::vector<float> tanh_by(const SimdSteps& steps, const std::vector<float>& values) {
  return hidden_by(steps, "h = tanh(n)", values);
}
std::vector<float> sigmoid_by(const SimdSteps& steps, const std::vector<float>& values) {
  return hidden_by(steps, "h = sigmoid(n)", values);
}

template <class Wanted>
double worst(const std::vector<float>& got, const std::vector<float>& values, const Wanted& wanted) {
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) largest = std::max(largest, ulps(got[i], wanted(double{values[i]})));
  return largest;
}

TEST_P(Simd, SigmoidIsWithinThreeUnitsOfTheLastPlace) {
  const auto wanted = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::vector<float> values = sweep(86);
  EXPECT_LE(worst(sigmoid_by(*GetParam(), values), values, wanted), 3.0);
}

TEST_P(Simd, TanhIsWithinTwoUnitsOfTheLastPlace) {
  const std::vector<float> values = sweep(20);
  EXPECT_LE(worst(tanh_by(*GetParam(), values), values, [](double x) { return std::tanh(x); }), 2.0);
}

TEST_P(Simd, ExtremesKeepTheirLimitsAndNanStaysNan) {
  const float inf = INFINITY, nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {inf, -inf, 1e30F, -1e30F, 200, -200, 0.0F, nan};
  const std::vector<float> sigmoids = sigmoid_by(*GetParam(), values), tanhs = tanh_by(*GetParam(), values);
  for (const size_t large : {0, 2, 4}) {
    EXPECT_EQ(sigmoids[large], 1.0F);
    EXPECT_EQ(tanhs[large], 1.0F);
    EXPECT_LT(sigmoids[large + 1], 1e-37F);
    EXPECT_EQ(tanhs[large + 1], -1.0F);
  }
  EXPECT_EQ(sigmoids[6], 0.5F);
  EXPECT_EQ(tanhs[6], 0.0F);
  EXPECT_TRUE(std::isnan(sigmoids[7]));
  EXPECT_TRUE(std::isnan(tanhs[7]));
}

TEST_P(Simd, NarrowsToBfloat16AsC10Does) {
  std::vector<float> values = sweep(40);
  values.insert(values.end(), {INFINITY, -INFINITY, NAN, 1.00390625F, 1.01171875F, 3.4e38F});
  std::vector<c10::BFloat16> got(values.size());
  GetParam()->narrow(values.data(), static_cast<int64_t>(values.size()), got.data());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(got[i].x, c10::BFloat16(values[i]).x) << values[i];
}

TEST_P(Simd, TransposesWhateverSize) {
  for (const int64_t rows : {1, 7, 16, 33})
    for (const int64_t columns : {1, 8, 15, 40}) {
      std::vector<int32_t> source(static_cast<size_t>(rows * (columns + 3)));
      for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int32_t>(i);
      std::vector<int32_t> target(static_cast<size_t>(columns * (rows + 2)), -1);
      GetParam()->transpose({source.data(), columns + 3, rows, columns}, target.data(), rows + 2);
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = 0; j < rows + 2; ++j)
          ASSERT_EQ(target[static_cast<size_t>(i * (rows + 2) + j)], j < rows ? j * (columns + 3) + i : -1);
    }
}

TEST_P(Simd, DrawsThePhiloxWordsOfLibTorch) {
  constexpr uint64_t kKey = 0x0123456789abcdef,
                     kFirst = 0xffffffff / kCountersOfBlock;  // the counter's second half too
  std::array<uint32_t, 2 * kWordsOfBlock> words;
  GetParam()->random_words(kKey, kFirst, 2, words.data());
  for (uint64_t i = 0; i < 2 * kCountersOfBlock; ++i) {
    at::Philox4_32 engine(kKey, /*subsequence=*/0, kFirst * kCountersOfBlock + i);
    const uint64_t place = i / kCountersOfBlock * kWordsOfBlock + i % kCountersOfBlock;
    for (uint64_t j = 0; j < 4; ++j) EXPECT_EQ(words[place + j * kCountersOfBlock], engine());
  }
}

TEST_P(Simd, InterleavesTwoRows) {
  std::vector<uint16_t> even(37), odd(37), target(76, 9999);
  for (uint16_t i = 0; i < 37; ++i) {
    even[i] = i;
    odd[i] = static_cast<uint16_t>(60000 + i);
  }
  GetParam()->interleave(even.data(), odd.data(), 37, target.data());
  for (size_t i = 0; i < 37; ++i) {
    EXPECT_EQ(target[2 * i], even[i]);
    EXPECT_EQ(target[2 * i + 1], odd[i]);
  }
  EXPECT_EQ(target[74], 9999);
}

}  // namespace
}  // namespace rnnlab::kernels
