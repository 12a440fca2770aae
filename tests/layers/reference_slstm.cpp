// SPDX-License-Identifier: Apache-2.0
// The reference of sLSTM: the equations of the paper with the stabilizer state, and heads as blocks of the weights.
#include <cmath>

#include "layers/reference_math.h"

namespace rnnlab::reference {
namespace {

// Row r of a gate reads the units of its own head: weight_hh (4 * H, H / heads).
size_t first_unit_of_head(size_t unit, size_t head_size) { return unit / head_size * head_size; }

Vector head_sum(const Weights& w, size_t gate, const Step& step) {
  const Vector& h = step.states[0];
  const auto head_size = static_cast<size_t>(w.weight_hh.columns);
  Vector sum = product(w.weight_ih, w.bias_ih, gate, step.x, h.size());
  for (size_t k = 0; k < h.size(); ++k)
    for (size_t j = 0; j < head_size; ++j)
      sum[k] += w.weight_hh.values[(gate * h.size() + k) * head_size + j] * h[first_unit_of_head(k, head_size) + j];
  return sum;
}

void head_sum_backward(const Weights& w, size_t gate, const Vector& d, const Step& step, Weights& d_w,
                       StepGradients& gradients) {
  const Vector& h = step.states[0];
  const auto head_size = static_cast<size_t>(w.weight_hh.columns);
  product_backward(w.weight_ih, gate, d, step.x, d_w.weight_ih, d_w.bias_ih, gradients.x);
  for (size_t k = 0; k < h.size(); ++k)
    for (size_t j = 0; j < head_size; ++j) {
      const size_t weight = (gate * h.size() + k) * head_size + j, unit = first_unit_of_head(k, head_size) + j;
      d_w.weight_hh.values[weight] += d[k] * h[unit];
      gradients.states[0][unit] += d[k] * w.weight_hh.values[weight];
    }
}

// Holds the sums of one unit's gates (as in the paper, i and f before their exponential), and its old and new states.
struct Unit {
  double log_i, log_f, z, o;  // log i~; log sigmoid(f~); tanh(z~); sigmoid(o~)
  double c, n, m;
  double new_m, i, f, new_c, new_n;
};

Unit unit_of(const Step& step, size_t k) {
  Unit u = {};
  u.log_i = step.gates[0][k];
  u.log_f = -std::log1p(std::exp(-step.gates[1][k]));
  u.z = std::tanh(step.gates[2][k]);
  u.o = sigmoid(step.gates[3][k]);
  u.c = step.states[1][k];
  u.n = step.states[2][k];
  u.m = step.states[3][k];
  const bool is_first = u.n == 0;  // nothing was read yet
  u.new_m = is_first ? u.log_i : std::max(u.log_f + u.m, u.log_i);
  u.i = std::exp(u.log_i - u.new_m);
  u.f = is_first ? 0 : std::exp(u.log_f + u.m - u.new_m);
  u.new_c = u.f * u.c + u.i * u.z;
  u.new_n = u.f * u.n + u.i;
  return u;
}

}  // namespace

void slstm_forward(const Weights& w, Step& step) {
  for (size_t gate = 0; gate < 4; ++gate) step.gates[gate] = head_sum(w, gate, step);
  step.new_states = step.states;
  for (size_t k = 0; k < step.states[0].size(); ++k) {
    const Unit u = unit_of(step, k);
    step.new_states[0][k] = u.o * u.new_c / u.new_n;
    step.new_states[1][k] = u.new_c;
    step.new_states[2][k] = u.new_n;
    step.new_states[3][k] = u.new_m;
    if (u.n != 0) step.distance_to_kink = std::min(step.distance_to_kink, std::abs(u.log_f + u.m - u.log_i));
  }
}

void slstm_backward(const Weights& w, const Step& step, const States& d_new, Weights& d_w, StepGradients& gradients) {
  std::array<Vector, 4> d_sum;
  for (Vector& d : d_sum) d.resize(d_new[0].size());
  for (size_t k = 0; k < d_new[0].size(); ++k) {
    const Unit u = unit_of(step, k);
    const double d_h = d_new[0][k];
    const double d_c = d_new[1][k] + d_h * u.o / u.new_n;
    const double d_n = d_new[2][k] - d_h * u.o * u.new_c / (u.new_n * u.new_n);
    const double d_log_i = (d_c * u.z + d_n) * u.i;  // of the exponents log i - m' and log f + m - m'
    const double d_log_f = (d_c * u.c + d_n * u.n) * u.f;
    const double d_new_m = d_new[3][k] - d_log_i - d_log_f;
    const bool is_by_forget = u.n != 0 && u.log_f + u.m > u.log_i;  // whose exponent m' is
    const double d_forget = d_log_f + (is_by_forget ? d_new_m : 0);
    d_sum[0][k] = d_log_i + (is_by_forget ? 0 : d_new_m);
    d_sum[1][k] = d_forget * (1 - sigmoid(step.gates[1][k]));
    d_sum[2][k] = d_c * u.i * (1 - u.z * u.z);
    d_sum[3][k] = d_h * u.new_c / u.new_n * sigmoid_slope(u.o);
    gradients.states[1][k] = d_c * u.f;
    gradients.states[2][k] = d_n * u.f;
    gradients.states[3][k] = d_forget;
  }
  for (size_t gate = 0; gate < 4; ++gate) head_sum_backward(w, gate, d_sum[gate], step, d_w, gradients);
}

}  // namespace rnnlab::reference
