#include "recurrent/reference.h"

#include <algorithm>

#include "recurrent/reference_cells.h"

namespace rnnlab::reference {
namespace {

// A (rows, batch, width) array, read and written one sequence's vector at a time.
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

// Everything that happened to one sequence in one direction of one layer, in the order of reading.
using Tape = std::vector<Step>;

// Walks all layers, directions and sequences, forward and backward.
class Network {
 public:
  explicit Network(const Problem& problem)
      : problem_(problem),
        batch_(problem.batch_size()),
        hidden_size_(problem.options.hidden_size),
        directions_(problem.options.num_directions()),
        states_(problem.options.num_layers * directions_),
        has_cell_(problem.options.cell == Cell::kLstm),
        tapes_(static_cast<size_t>(states_ * batch_)) {}

  Result forward();
  Gradients backward(const Result& upstream);

 private:
  int64_t width(int64_t layer) const { return layer == 0 ? problem_.options.input_size : directions_ * hidden_size_; }
  Tape& tape(int64_t index, int64_t b) { return tapes_[static_cast<size_t>(index * batch_ + b)]; }
  // The time of the i-th step read.
  int64_t time(int64_t direction, int64_t i, int64_t b) const {
    return direction == 0 ? i : problem_.lengths[static_cast<size_t>(b)] - 1 - i;
  }
  Vector state_of(const Vector& states, int64_t index, int64_t b) const {
    return slice(states, index, b, batch_, hidden_size_, 0, hidden_size_);
  }

  void read_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& input, Vector& output, Result& result);
  void unread_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& d_output, const Result& upstream,
                       Vector& d_input, Gradients& gradients);

  const Problem& problem_;
  int64_t batch_, hidden_size_, directions_, states_;
  bool has_cell_;
  std::vector<Tape> tapes_;
};

Result Network::forward() {
  Result result;
  result.hidden = zeros(states_, batch_, hidden_size_);
  if (has_cell_) result.cell = result.hidden;
  Vector sequence = problem_.input;
  for (int64_t layer = 0; layer < problem_.options.num_layers; ++layer) {
    Vector output = zeros(problem_.num_steps, batch_, directions_ * hidden_size_);
    for (int64_t direction = 0; direction < directions_; ++direction)
      for (int64_t b = 0; b < batch_; ++b) read_sequence(layer, direction, b, sequence, output, result);
    sequence = output;
  }
  result.output = sequence;
  return result;
}

void Network::read_sequence(int64_t layer, int64_t direction, int64_t b, const Vector& input, Vector& output,
                            Result& result) {
  const int64_t index = layer * directions_ + direction;
  Vector h = state_of(problem_.hidden, index, b);
  Vector c = has_cell_ ? state_of(problem_.cell, index, b) : Vector{};
  for (int64_t i = 0; i < problem_.lengths[static_cast<size_t>(b)]; ++i) {
    const int64_t t = time(direction, i, b);
    const Vector x = slice(input, t, b, batch_, width(layer), 0, width(layer));
    const Step step = step_forward(problem_.options, problem_.weights[static_cast<size_t>(index)], x, h, c);
    h = step.new_h;
    c = step.new_c;
    add_slice(output, t, b, batch_, directions_ * hidden_size_, direction * hidden_size_, h);
    result.distance_to_kink = std::min(result.distance_to_kink, step.distance_to_kink);
    tape(index, b).push_back(step);
  }
  add_slice(result.hidden, index, b, batch_, hidden_size_, 0, h);
  if (has_cell_) add_slice(result.cell, index, b, batch_, hidden_size_, 0, c);
}

Gradients Network::backward(const Result& upstream) {
  Gradients gradients;
  gradients.hidden = zeros(states_, batch_, hidden_size_);
  if (has_cell_) gradients.cell = gradients.hidden;
  gradients.weights = problem_.weights;
  for (Weights& w : gradients.weights)
    for (Vector* values : {&w.weight_ih.values, &w.weight_hh.values, &w.bias_ih, &w.bias_hh})
      std::fill(values->begin(), values->end(), 0.0);

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
  Vector d_h = state_of(upstream.hidden, index, b);
  Vector d_c = has_cell_ ? state_of(upstream.cell, index, b) : Vector{};
  for (int64_t i = problem_.lengths[static_cast<size_t>(b)] - 1; i >= 0; --i) {
    const int64_t t = time(direction, i, b);
    const Vector from_output =
        slice(d_output, t, b, batch_, directions_ * hidden_size_, direction * hidden_size_, hidden_size_);
    for (size_t k = 0; k < d_h.size(); ++k) d_h[k] += from_output[k];
    const auto at = static_cast<size_t>(index);
    const StepGradients d = step_backward(problem_.options, problem_.weights[at],
                                          tape(index, b)[static_cast<size_t>(i)], d_h, d_c, gradients.weights[at]);
    add_slice(d_input, t, b, batch_, width(layer), 0, d.x);
    d_h = d.h;
    d_c = d.c;
  }
  add_slice(gradients.hidden, index, b, batch_, hidden_size_, 0, d_h);
  if (has_cell_) add_slice(gradients.cell, index, b, batch_, hidden_size_, 0, d_c);
}

}  // namespace

Result forward(const Problem& problem) { return Network(problem).forward(); }

Gradients backward(const Problem& problem, const Result& upstream) {
  Network network(problem);
  network.forward();
  return network.backward(upstream);
}

}  // namespace rnnlab::reference
