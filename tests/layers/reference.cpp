// SPDX-License-Identifier: Apache-2.0
#include "layers/reference.h"

#include <algorithm>

#include "layers/reference_cells.h"

namespace rnnlab::reference {
namespace {

// Reads and writes a (rows, batch, width) array, one sequence's vector at a time.
Vector slice(const Vector& array, int64_t row, int64_t b, int64_t batch_size, int64_t width, int64_t from,
             int64_t count) {
  const auto begin = array.begin() + (row * batch_size + b) * width + from;
  return Vector(begin, begin + count);
}

void add_slice(Vector& array, int64_t row, int64_t b, int64_t batch_size, int64_t width, int64_t from,
               const Vector& values) {
  const auto begin = static_cast<size_t>((row * batch_size + b) * width + from);
  for (size_t k = 0; k < values.size(); ++k) array[begin + k] += values[k];
}

Vector zeros(int64_t a, int64_t b, int64_t c) { return Vector(static_cast<size_t>(a * b * c)); }

void add(Vector& sum, const Vector& values) {
  for (size_t k = 0; k < values.size(); ++k) sum[k] += values[k];
}

void clear(States& states) {
  for (Vector& state : states) std::fill(state.begin(), state.end(), 0.0);
}

// Holds all steps of one sequence in one direction of one layer, in the order in which they are read.
using Tape = std::vector<Step>;

// Computes all layers, directions and sequences, forward and backward.
class Network {
 public:
  explicit Network(const Problem& problem)
      : problem_(problem),
        batch_(problem.batch_size()),
        hidden_size_(problem.options.hidden_size),
        directions_(problem.options.num_directions()),
        states_(problem.options.num_layers * directions_),
        num_inner_(problem.inner.size()),
        tapes_(static_cast<size_t>(states_ * batch_)) {}

  Result forward(double least_distance = 0);
  Gradients backward(const Result& upstream);

 private:
  int64_t width(int64_t layer) const { return layer == 0 ? problem_.options.input_size : directions_ * hidden_size_; }
  Tape& tape(int64_t index, int64_t b) { return tapes_[static_cast<size_t>(index * batch_ + b)]; }
  // Returns the time of the i-th step that is read.
  int64_t time(int64_t direction, int64_t i, int64_t b) const {
    return direction == 0 ? i : problem_.lengths[static_cast<size_t>(b)] - 1 - i;
  }
  // Whether the i-th step that is read starts. In reverse it is the step before one that does.
  bool starts(int64_t direction, int64_t i, int64_t b) const {
    if (problem_.starts.empty() || (direction == 1 && i == 0)) return false;
    return problem_.starts[static_cast<size_t>((time(direction, i, b) + direction) * batch_ + b)];
  }
  // These functions compute one sequence in one direction of one layer.
  States states_of(const Vector& hidden, const std::vector<Vector>& inner, int64_t index, int64_t b) const {
    const auto mine = [&](const Vector& all) { return slice(all, index, b, batch_, hidden_size_, 0, hidden_size_); };
    States states = {mine(hidden)};
    for (const Vector& all : inner) states.push_back(mine(all));
    return states;
  }
  void add_states(Vector& hidden, std::vector<Vector>& inner, int64_t index, int64_t b, const States& states) const {
    add_slice(hidden, index, b, batch_, hidden_size_, 0, states[0]);
    for (size_t i = 0; i < inner.size(); ++i) add_slice(inner[i], index, b, batch_, hidden_size_, 0, states[i + 1]);
  }

  void read_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& input, Vector& output, Result& result);
  void unread_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& d_output, const Result& upstream,
                       Vector& d_input, Gradients& gradients);

  const Problem& problem_;
  int64_t batch_, hidden_size_, directions_, states_;
  size_t num_inner_;
  std::vector<Tape> tapes_;
};

Result Network::forward(double least_distance) {
  Result result;
  result.hidden = zeros(states_, batch_, hidden_size_);
  result.inner.assign(num_inner_, result.hidden);
  result.all.assign(num_inner_ + 1, zeros(states_ * problem_.num_steps, batch_, hidden_size_));
  Vector sequence = problem_.input;
  for (int64_t layer = 0; layer < problem_.options.num_layers; ++layer) {
    Vector output = zeros(problem_.num_steps, batch_, directions_ * hidden_size_);
    for (int64_t direction = 0; direction < directions_; ++direction)
      for (int64_t b = 0; b < batch_; ++b) {
        read_sequence(layer, direction, b, sequence, output, result);
        if (result.distance_to_kink < least_distance) return result;
      }
    sequence = output;
  }
  result.output = sequence;
  return result;
}

void Network::read_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& input, Vector& output,
                            Result& result) {
  const int64_t index = layer * directions_ + direction;
  States states = states_of(problem_.hidden, problem_.inner, index, b);
  for (int64_t i = 0; i < problem_.lengths[static_cast<size_t>(b)]; ++i) {
    const int64_t t = time(direction, i, b);
    const Vector x = slice(input, t, b, batch_, width(layer), 0, width(layer));
    if (starts(direction, i, b)) clear(states);
    const Step step = step_forward(problem_.options, problem_.weights[static_cast<size_t>(index)], x, states);
    states = step.new_states;
    for (size_t k = 0; k < states.size(); ++k)
      add_slice(result.all[k], index * problem_.num_steps + t, b, batch_, hidden_size_, 0, states[k]);
    add_slice(output, t, b, batch_, directions_ * hidden_size_, direction * hidden_size_, states[0]);
    result.distance_to_kink = std::min(result.distance_to_kink, step.distance_to_kink);
    tape(index, b).push_back(step);
  }
  add_states(result.hidden, result.inner, index, b, states);
}

Gradients Network::backward(const Result& upstream) {
  Gradients gradients;
  gradients.hidden = zeros(states_, batch_, hidden_size_);
  gradients.inner.assign(num_inner_, gradients.hidden);
  gradients.weights = problem_.weights;
  for (Weights& w : gradients.weights)
    for (Vector* values : vectors_of(w)) std::fill(values->begin(), values->end(), 0.0);

  Vector d_output = upstream.output;
  for (int64_t layer = problem_.options.num_layers - 1; layer >= 0; --layer) {
    Vector d_input = zeros(problem_.num_steps, batch_, width(layer));
    for (int64_t direction = 0; direction < directions_; ++direction)
      for (int64_t b = 0; b < batch_; ++b) unread_sequence(layer, direction, b, d_output, upstream, d_input, gradients);
    d_output = d_input;
  }
  gradients.input = d_output;
  return gradients;
}

void Network::unread_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& d_output,
                              const Result& upstream, Vector& d_input, Gradients& gradients) {
  const int64_t index = layer * directions_ + direction;
  States d_states = states_of(upstream.hidden, upstream.inner, index, b);
  for (int64_t i = problem_.lengths[static_cast<size_t>(b)] - 1; i >= 0; --i) {
    const int64_t t = time(direction, i, b);
    const Vector from_output =
        slice(d_output, t, b, batch_, directions_ * hidden_size_, direction * hidden_size_, hidden_size_);
    add(d_states[0], from_output);
    for (size_t k = 0; k < upstream.all.size(); ++k)
      add(d_states[k],
          slice(upstream.all[k], index * problem_.num_steps + t, b, batch_, hidden_size_, 0, hidden_size_));
    const auto at = static_cast<size_t>(index);
    const StepGradients d = step_backward(problem_.options, problem_.weights[at],
                                          tape(index, b)[static_cast<size_t>(i)], d_states, gradients.weights[at]);
    add_slice(d_input, t, b, batch_, width(layer), 0, d.x);
    d_states = d.states;
    if (starts(direction, i, b)) clear(d_states);
  }
  add_states(gradients.hidden, gradients.inner, index, b, d_states);
}

}  // namespace

std::vector<Vector*> vectors_of(Weights& w) {
  std::vector<Vector*> vectors = {&w.weight_ih.values, &w.weight_hh.values, &w.bias_ih, &w.bias_hh};
  for (Vector& vector : w.vectors) vectors.push_back(&vector);
  std::erase_if(vectors, [](const Vector* vector) { return vector->empty(); });
  return vectors;
}

Result forward(const Problem& problem, double least_distance) { return Network(problem).forward(least_distance); }

Gradients backward(const Problem& problem, const Result& upstream) {
  Network network(problem);
  network.forward();
  return network.backward(upstream);
}

}  // namespace rnnlab::reference
