// SPDX-License-Identifier: Apache-2.0
#include "layers/problems.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <random>

#include "layers/cells/cell.h"

namespace rnnlab::reference {
namespace {

using Random = std::mt19937_64;

Vector normal(Random& random, int64_t count) {
  std::normal_distribution<double> distribution;
  Vector values(static_cast<size_t>(count));
  for (double& value : values) value = distribution(random);
  return values;
}

Matrix uniform_matrix(Random& random, int64_t rows, int64_t columns) {
  const double bound = 0.9 / std::sqrt(static_cast<double>(columns));
  std::uniform_real_distribution<double> distribution(-bound, bound);
  Matrix matrix{rows, columns, Vector(static_cast<size_t>(rows * columns))};
  for (double& value : matrix.values) value = distribution(random);
  return matrix;
}

Vector biases(Random& random, int64_t count) {
  std::uniform_real_distribution<double> distribution(0.4, 0.7);
  Vector values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = (i % 2 == 0 ? 1 : -1) * distribution(random);
  return values;
}

// Cell states have no bound under relu, and larger weights would make the problem ill-conditioned.
Vector small_weights(Random& random, int64_t count) {
  Vector values = biases(random, count);
  for (double& value : values) value *= 0.2;
  return values;
}

std::vector<int64_t> make_lengths(const Shape& shape) {
  std::vector<int64_t> lengths(static_cast<size_t>(shape.batch_size), shape.num_steps);
  if (shape.lengths == Lengths::kWhole) return lengths;
  for (size_t b = 0; b < lengths.size(); ++b) lengths[b] = 1 + static_cast<int64_t>(3 * b + 1) % shape.num_steps;
  return lengths;
}

std::vector<bool> make_starts(const Shape& shape) {
  if (shape.starts == Starts::kNone) return {};
  std::vector<bool> starts(static_cast<size_t>(shape.num_steps * shape.batch_size));
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = i % 7 < 2;
  return starts;
}

// Zeros stay zeros. Other values become at least 0.5, like those of a normalizer state after a step.
void make_positive(Vector& values) {
  for (double& value : values)
    if (value != 0) value = 0.5 + std::abs(value);
}

Weights draw_weights(const RecurrentOptions& options, int64_t num_inputs, Random& random) {
  Weights weights;
  for (const auto& [name, shape] : cell_parameters(options, num_inputs)) {
    if (name == "weight_ih") weights.weight_ih = uniform_matrix(random, shape[0], shape[1]);
    if (name == "weight_hh") weights.weight_hh = uniform_matrix(random, shape[0], shape[1]);
    if (name == "bias_ih") weights.bias_ih = biases(random, shape[0]);
    if (name == "bias_hh") weights.bias_hh = biases(random, shape[0]);
    if (!name.starts_with("weight") && !name.starts_with("bias"))
      weights.vectors.push_back(small_weights(random, shape[0]));
  }
  return weights;
}

Problem draw_problem(const RecurrentOptions& options, const Shape& shape, Random& random) {
  Problem problem;
  problem.options = options;
  problem.num_steps = shape.num_steps;
  problem.lengths = make_lengths(shape);
  problem.starts = make_starts(shape);
  problem.returns_all_states = shape.returns_all_states;
  problem.input = normal(random, shape.num_steps * shape.batch_size * options.input_size);

  const int64_t num_states = options.num_layers * options.num_directions();
  for (int64_t index = 0; index < num_states; ++index) {
    const bool first = index < options.num_directions();
    const int64_t columns = first ? options.input_size : options.num_directions() * options.hidden_size;
    problem.weights.push_back(draw_weights(options, columns, random));
  }
  const int64_t count = num_states * shape.batch_size * options.hidden_size;
  const auto initial = [&] {
    return shape.start == Start::kGiven ? normal(random, count) : Vector(static_cast<size_t>(count));
  };
  problem.hidden = initial();
  const auto& states = info_of(options.cell).states;
  for (size_t number = 1; number < states.size(); ++number) {
    problem.inner.push_back(initial());
    if (states[number] == "normalizer") make_positive(problem.inner.back());
  }
  return problem;
}

// Call `visit` with each array that has a part for each sequence, in this and in a problem of sequence `b` alone: the
// part begins at `from` in each of `rows` rows.
template <typename Visit>
void visit_sequence(Problem& all, int64_t b, Problem& one, const Visit& visit) {
  const auto visit_rows = [&](Vector& many, Vector& mine, int64_t width) {
    const int64_t rows = std::ssize(mine) / width;
    for (int64_t row = 0; row < rows; ++row)
      visit(many.begin() + (row * all.batch_size() + b) * width, mine.begin() + row * width, width);
  };
  visit_rows(all.input, one.input, all.options.input_size);
  visit_rows(all.hidden, one.hidden, all.options.hidden_size);
  for (size_t i = 0; i < all.inner.size(); ++i) visit_rows(all.inner[i], one.inner[i], all.options.hidden_size);
}

// Returns a problem with new numbers for the sequence `b` of `all`, and the weights, length and starts of `all`.
Problem draw_sequence(const Problem& all, int64_t b, Shape shape, Random& random) {
  shape.batch_size = 1;
  Problem one = draw_problem(all.options, shape, random);
  one.weights = all.weights;
  one.lengths = {all.lengths[static_cast<size_t>(b)]};
  for (size_t t = 0; t < one.starts.size(); ++t)
    one.starts[t] = all.starts[t * all.lengths.size() + static_cast<size_t>(b)];
  return one;
}

// Sequences do not depend on each other: those near a kink are drawn again one at a time, because all of them together
// are seldom far enough.
Problem draw_far_from_kinks(const RecurrentOptions& options, const Shape& shape, double distance_to_kink) {
  Random random(1);
  Problem all = draw_problem(options, shape, random);
  const auto is_near = [&](const Problem& problem) {
    return forward(problem, distance_to_kink).distance_to_kink < distance_to_kink;
  };
  if (!is_near(all)) return all;
  Random again(3);
  for (int64_t b = 0; b < all.batch_size(); ++b) {
    Problem one = draw_sequence(all, b, shape, again);
    visit_sequence(all, b, one, [](auto many, auto mine, int64_t width) { std::copy_n(many, width, mine); });
    while (is_near(one)) one = draw_sequence(all, b, shape, again);
    visit_sequence(all, b, one, [](auto many, auto mine, int64_t width) { std::copy_n(mine, width, many); });
  }
  return all;
}

}  // namespace

// Several layers are asked for one problem, and each draw that is rejected costs a pass in float64.
Problem random_problem(const RecurrentOptions& options, const Shape& shape, double distance_to_kink) {
  struct Drawn {
    Shape shape;
    double distance_to_kink;
    Problem problem;
  };
  static std::deque<Drawn> known;
  RecurrentOptions steps_first = options;
  steps_first.batch_first = false;  // the numbers are the same
  const auto is_this = [&](const Drawn& drawn) {
    return drawn.problem.options == steps_first && drawn.shape == shape && drawn.distance_to_kink == distance_to_kink;
  };
  auto drawn = std::ranges::find_if(known, is_this);
  if (drawn == known.end()) {
    known.push_back({shape, distance_to_kink, draw_far_from_kinks(steps_first, shape, distance_to_kink)});
    drawn = std::prev(known.end());
  }
  Problem problem = drawn->problem;
  problem.options = options;
  return problem;
}

Result random_upstream(const Problem& problem) {
  Random random(2);
  const RecurrentOptions& options = problem.options;
  Result upstream;
  upstream.output =
      normal(random, problem.num_steps * problem.batch_size() * options.num_directions() * options.hidden_size);
  upstream.hidden = normal(random, static_cast<int64_t>(problem.hidden.size()));
  for (const Vector& state : problem.inner) upstream.inner.push_back(normal(random, std::ssize(state)));
  if (!problem.returns_all_states) return upstream;
  for (size_t state = 0; state < problem.inner.size() + 1; ++state)
    upstream.all.push_back(normal(random, std::ssize(problem.hidden) * problem.num_steps));
  return upstream;
}

std::vector<RecurrentOptions> stacks_of(RecurrentOptions options) {
  std::vector<RecurrentOptions> stacks;
  for (const int64_t num_layers : {1, 2})
    for (const bool bidirectional : {false, true}) {
      options.num_layers = num_layers;
      options.bidirectional = bidirectional;
      stacks.push_back(options);
    }
  return stacks;
}

std::vector<Vector*> vectors_of(std::vector<Weights>& weights) {
  std::vector<Vector*> vectors;
  for (Weights& w : weights)
    for (Vector* vector : vectors_of(w)) vectors.push_back(vector);
  return vectors;
}

}  // namespace rnnlab::reference
