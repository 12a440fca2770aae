// SPDX-License-Identifier: Apache-2.0
// Implements sLSTM (Beck et al. 2024, "xLSTM: Extended Long Short-Term Memory", arXiv 2405.04517, section 2.2), with an
// exponential input gate, a normalizer state n and a stabilizer state m. The sum of each gate a is a~ = W_a x + b_a +
// R_a h:
//   m' = max(f^ + m, i~), f^ = log sigmoid(f~)        i = exp(i~ - m')        f = exp(f^ + m - m')
//   c' = f * c + i * tanh(z~)        n' = f * n + i        h' = sigmoid(o~) * c' / n'
// m cancels out of h' and only keeps the exponentials finite. If n is 0, no step was read yet: m then counts as
// -infinity, so that f is 0 and n' is 1. The forget gate is the paper's sigmoid form, as in the authors' program. There
// are `heads` heads of H / heads units; a head reads only the hidden states of its own units, so that R is block
// diagonal. Four GEMMs and four batched GEMMs a step. Rows of the parameters: i f z o; weight_hh is (4 * H, H / heads),
// and within a gate the heads follow one another.
#include <ATen/ops/bmm.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <limits>

#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

// Computes W x + b + R h of one gate, with R in blocks.
class HeadGate {
 public:
  HeadGate(CellWeights weights, int64_t index, const RecurrentOptions& options) {
    const int64_t hidden_size = options.hidden_size, heads = options.heads;
    const auto rows = [&](const at::Tensor& stacked) { return stacked.narrow(0, index * hidden_size, hidden_size); };
    weight_ih_ = rows(weights[0]);
    blocks_ = rows(weights[1]).reshape({heads, hidden_size / heads, -1}).transpose(1, 2);
    bias_ = rows(weights[2]);
  }

  // Returns (B, H). x: (B, I), h: (B, H).
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& h) const {
    const at::Tensor by_head = h.reshape({h.size(0), blocks_.size(0), -1}).transpose(0, 1);
    const at::Tensor recurrent = at::bmm(by_head, blocks_).transpose(0, 1).reshape(h.sizes());
    return at::linear(x, weight_ih_, bias_) + recurrent;
  }

 private:
  at::Tensor weight_ih_, blocks_, bias_;  // (H, I), (heads, H / heads, H / heads), (H)
};

class SlstmEquations : public CellEquations {
 public:
  SlstmEquations(const RecurrentOptions& options, CellWeights weights)
      : input_(weights, 0, options),
        forget_(weights, 1, options),
        candidate_(weights, 2, options),
        output_(weights, 3, options) {}

  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    const at::Tensor &h = states[0], &c = states[1], &n = states[2], &m = states[3];
    const at::Tensor log_i = input_(x, h).to(m.scalar_type());
    const at::Tensor old_m = at::where(n == 0, -std::numeric_limits<double>::infinity(), m);
    const at::Tensor log_f = at::log_sigmoid(forget_(x, h)).to(m.scalar_type()) + old_m;
    const at::Tensor new_m = at::maximum(log_f, log_i);
    const at::Tensor i = at::exp(log_i - new_m);
    const at::Tensor f = at::exp(log_f - new_m);
    const at::Tensor new_c = f * c + i * at::tanh(candidate_(x, h));
    const at::Tensor new_n = f * n + i;
    return {at::sigmoid(output_(x, h)) * new_c / new_n, new_c, new_n, new_m};
  }

 private:
  HeadGate input_, forget_, candidate_, output_;
};

std::vector<ParameterSpec> slstm_parameters(const RecurrentOptions& options, int64_t num_inputs) {
  const int64_t rows = 4 * options.hidden_size;
  return {{"weight_ih", {rows, num_inputs}},
          {"weight_hh", {rows, options.hidden_size / options.heads}},
          {"bias_ih", {rows}}};
}

std::optional<Contradiction> slstm_fault(const RecurrentOptions& options) {
  if (options.hidden_size % options.heads == 0) return std::nullopt;
  return Contradiction{{"heads", "hidden_size"},
                       fmt::format("the number of heads must divide hidden_size: {}", options.hidden_size)};
}

}  // namespace

const CellInfo& slstm_cell() {
  static const CellInfo info = {.description = "sLSTM of xLSTM, with exponential gates and heads",
                                .num_gates = 4,
                                .states = {"hidden", "cell", "normalizer", "stabilizer"},
                                .options = {RecurrentOption::kHeads},
                                .parameters = slstm_parameters,
                                .equations = make_equations<SlstmEquations>,
                                .fault = slstm_fault};
  return info;
}

}  // namespace rnnlab
