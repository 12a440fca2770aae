// SPDX-License-Identifier: Apache-2.0
// Compares the vectorised steps of each instruction set of this processor with the plain steps in float64.
#include "layers/kernels/simd_steps.h"

#include <ATen/core/PhiloxRNGEngine.h>
#include <c10/util/BFloat16.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

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

// Returns the results of a plain cell for these sums.
std::vector<float> tanh_by(const SimdSteps& steps, std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  const std::vector<float> zeros(values.size());
  const RnnForward work = {{.batch_size = 1, .hidden_size = count},
                           {values.data(), zeros.data(), zeros.data(), zeros.data()},
                           values.data()};
  run(steps, work, Sums{}, Part{{0, 1}, {0, count}});
  return values;
}

// Returns the results of an LSTM step whose first gate has these sums, so that they show its sigmoid.
std::vector<float> sigmoid_by(const SimdSteps& steps, std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  const std::vector<float> zeros(4 * values.size());
  std::vector<float> cell(values.size()), hidden(values.size());
  values.resize(zeros.size());
  const LstmForward work = {{.batch_size = 1, .hidden_size = count},
                            {values.data(), zeros.data(), zeros.data(), zeros.data()},
                            zeros.data(),
                            cell.data(),
                            hidden.data()};
  run(steps, work, Sums{}, Part{{0, 1}, {0, count}});
  values.resize(cell.size());
  return values;
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

// One matrix in float32 and in float64, which start from the same numbers.
struct Both {
  std::vector<float> narrow;
  std::vector<double> wide;
};
Both random_numbers(int64_t count) {
  static std::mt19937 generator(1);
  std::uniform_real_distribution<float> numbers(-2, 2);
  Both both;
  for (int64_t i = 0; i < count; ++i) {
    both.narrow.push_back(numbers(generator));
    both.wide.push_back(double{both.narrow.back()});
  }
  return both;
}
void expect_equal(const Both& both, const char* what) {
  for (size_t i = 0; i < both.wide.size(); ++i) ASSERT_NEAR(both.narrow[i], both.wide[i], 2e-6) << what << " " << i;
}

// Brings numbers whose errors are larger to the size of the others.
void divide(Both& both, float by) {
  for (float& value : both.narrow) value /= by;
  for (double& value : both.wide) value /= by;
}

constexpr auto kNarrow = [](auto& both) -> auto& { return both.narrow; };
constexpr auto kWide = [](auto& both) -> auto& { return both.wide; };

constexpr int64_t kRows = 3, kUnits = 37, kState = kRows * kUnits;

Step step_in(ElementType type, Nonlinearity nonlinearity) { return {type, nonlinearity, kRows, kUnits}; }

class SimdStep : public Simd {
 protected:
  // Rows 1 and 2 only, in two parts, so that what lies outside of a part has to stay as it is.
  template <class Work>
  void run_both(const Work& narrow, const Work& wide) const {
    kernels::run(*GetParam(), narrow, Sums{}, Part{{1, kRows}, {0, 20}});
    kernels::run(*GetParam(), narrow, Sums{}, Part{{1, kRows}, {20, kUnits}});
    kernels::run(wide, Rows{1, kRows});
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SimdStep);
INSTANTIATE_TEST_SUITE_P(All, SimdStep, ::testing::ValuesIn(all_steps()), name_of_steps);

TEST_P(SimdStep, LstmForwardIsThePlainOne) {
  for (const auto nonlinearity : {Nonlinearity::kTanh, Nonlinearity::kRelu}) {
    Both gates = random_numbers(4 * kState), previous = random_numbers(kState), cell = random_numbers(kState),
         hidden = random_numbers(kState);
    const Both recurrent = random_numbers(4 * kState), bias_ih = random_numbers(4 * kUnits),
               bias_hh = random_numbers(4 * kUnits);
    const auto work = [&](ElementType type, auto of) {
      return LstmForward{step_in(type, nonlinearity),
                         {of(gates).data(), of(recurrent).data(), of(bias_ih).data(), of(bias_hh).data()},
                         of(previous).data(),
                         of(cell).data(),
                         of(hidden).data()};
    };
    run_both(work(ElementType::kFloat32, kNarrow), work(ElementType::kFloat64, kWide));
    expect_equal(gates, "gate");
    expect_equal(cell, "cell");
    expect_equal(hidden, "hidden");
  }
}

TEST_P(SimdStep, LstmBackwardIsThePlainOne) {
  for (const auto nonlinearity : {Nonlinearity::kTanh, Nonlinearity::kRelu}) {
    const Both output = random_numbers(kState), next = random_numbers(kState), cell_output = random_numbers(kState),
               gates = random_numbers(4 * kState), previous = random_numbers(kState), cell = random_numbers(kState);
    Both carry = random_numbers(kState), gradients = random_numbers(4 * kState);
    const auto work = [&](ElementType type, auto of) {
      return LstmBackward{step_in(type, nonlinearity),
                          {of(output).data(), of(next).data()},
                          of(cell_output).data(),
                          of(gates).data(),
                          of(previous).data(),
                          of(cell).data(),
                          of(carry).data(),
                          of(gradients).data()};
    };
    run_both(work(ElementType::kFloat32, kNarrow), work(ElementType::kFloat64, kWide));
    divide(carry, 16);
    divide(gradients, 64);
    expect_equal(carry, "carry");
    expect_equal(gradients, "gradient");
  }
}

TEST_P(SimdStep, GruForwardIsThePlainOne) {
  Both gates = random_numbers(3 * kState), candidate = random_numbers(kState), hidden = random_numbers(kState);
  const Both recurrent = random_numbers(3 * kState), bias_ih = random_numbers(3 * kUnits),
             bias_hh = random_numbers(3 * kUnits), previous = random_numbers(kState);
  const auto work = [&](ElementType type, auto of) {
    return GruForward{step_in(type, Nonlinearity::kTanh),
                      {of(gates).data(), of(recurrent).data(), of(bias_ih).data(), of(bias_hh).data()},
                      of(previous).data(),
                      of(candidate).data(),
                      of(hidden).data()};
  };
  run_both(work(ElementType::kFloat32, kNarrow), work(ElementType::kFloat64, kWide));
  expect_equal(gates, "gate");
  expect_equal(candidate, "candidate");
  expect_equal(hidden, "hidden");
}

TEST_P(SimdStep, GruBackwardIsThePlainOne) {
  const Both output = random_numbers(kState), next = random_numbers(kState), gates = random_numbers(3 * kState),
             candidate = random_numbers(kState), previous = random_numbers(kState);
  Both carry = random_numbers(kState), input = random_numbers(3 * kState), recurrent = random_numbers(3 * kState);
  const auto work = [&](ElementType type, auto of) {
    return GruBackward{step_in(type, Nonlinearity::kTanh),
                       {of(output).data(), of(next).data()},
                       of(gates).data(),
                       of(candidate).data(),
                       of(previous).data(),
                       of(carry).data(),
                       of(input).data(),
                       of(recurrent).data()};
  };
  run_both(work(ElementType::kFloat32, kNarrow), work(ElementType::kFloat64, kWide));
  divide(carry, 16);
  divide(input, 256);
  divide(recurrent, 256);
  expect_equal(carry, "carry");
  expect_equal(input, "gradient of the input side");
  expect_equal(recurrent, "gradient of the recurrent side");
}

TEST_P(SimdStep, PlainCellsAreThePlainOnes) {
  for (const auto nonlinearity : {Nonlinearity::kTanh, Nonlinearity::kRelu}) {
    Both hidden = random_numbers(kState), gradients = random_numbers(kState), input = random_numbers(kState);
    const Both recurrent = random_numbers(kState), bias_ih = random_numbers(kUnits), bias_hh = random_numbers(kUnits),
               output = random_numbers(kState);
    const auto forward = [&](ElementType type, auto of) {
      return RnnForward{step_in(type, nonlinearity),
                        {of(input).data(), of(recurrent).data(), of(bias_ih).data(), of(bias_hh).data()},
                        of(hidden).data()};
    };
    const auto backward = [&](ElementType type, auto of) {
      return RnnBackward{
          step_in(type, nonlinearity), {of(output).data(), nullptr}, of(hidden).data(), of(gradients).data()};
    };
    run_both(forward(ElementType::kFloat32, kNarrow), forward(ElementType::kFloat64, kWide));
    run_both(backward(ElementType::kFloat32, kNarrow), backward(ElementType::kFloat64, kWide));
    expect_equal(hidden, "hidden");
    expect_equal(gradients, "gradient");
  }
}

TEST_P(SimdStep, TakesSumsInThePlaceOfProducts) {
  const Both input = random_numbers(4 * kState), recurrent = random_numbers(4 * kState);
  const Both bias = random_numbers(4 * kUnits), previous = random_numbers(kState);
  Both with_products = input, with_sums = random_numbers(4 * kState);
  Both cell = random_numbers(kState), other_cell = cell, hidden = random_numbers(kState), other_hidden = hidden;
  std::vector<float> sums;
  for (size_t i = 0; i < input.narrow.size(); ++i) sums.push_back(input.narrow[i] + recurrent.narrow[i]);
  const auto work = [&](Both& gates, const Both* product, Both& new_cell, Both& new_hidden) {
    return LstmForward{step_in(ElementType::kFloat32, Nonlinearity::kTanh),
                       {gates.narrow.data(), product == nullptr ? nullptr : product->narrow.data(), bias.narrow.data(),
                        bias.narrow.data()},
                       previous.narrow.data(),
                       new_cell.narrow.data(),
                       new_hidden.narrow.data()};
  };
  const Part part = {{1, 2}, {5, 30}};
  kernels::run(*GetParam(), work(with_products, &recurrent, cell, hidden), Sums{}, part);
  const Sums of_part = {sums.data() + 4 * kUnits + 5, 4 * kUnits, kUnits, 1, 5};
  kernels::run(*GetParam(), work(with_sums, nullptr, other_cell, other_hidden), of_part, part);
  for (int64_t unit = 5; unit < 30; ++unit) {
    const auto i = static_cast<size_t>(kUnits + unit);
    EXPECT_NEAR(cell.narrow[i], other_cell.narrow[i], 1e-6);
    EXPECT_NEAR(hidden.narrow[i], other_hidden.narrow[i], 1e-6);
  }
}

}  // namespace
}  // namespace rnnlab::kernels
