// SPDX-License-Identifier: Apache-2.0
// The equations of a recurrent cell as a program for one unit: what is read (gates, states, learned vectors), and how
// the states after a step are computed from them. Every layer computes a cell from its program. The program leaves out
// how: products with weights, the order of steps, and the derivative (reverse_program.h). Plain values without
// LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/program/graph.h"

namespace rnnlab {

// A gate's sum has a part of the input, a part of the hidden state, or both.
struct GateSides {
  std::string name;
  bool reads_input = false;
  bool reads_hidden = false;
  bool is_sum = false;  // both sides are read as their sum alone
};

// Learned numbers for each unit: a parameter with a row of H numbers for each name, or a single row without names.
struct LearnedVector {
  std::string name;               // of the parameter
  std::vector<std::string> rows;  // "i" is read as "peephole.i"; empty: the name is read

  bool operator==(const LearnedVector&) const = default;
  int64_t num_rows() const { return rows.empty() ? 1 : static_cast<int64_t>(rows.size()); }

  // Returns how equations name the row: "peephole.i", or "p" of a vector without named rows.
  std::string row_name(int64_t row) const { return rows.empty() ? name : name + "." + rows[static_cast<size_t>(row)]; }
};

// Returns the number of rows of all vectors.
size_t num_rows(const std::vector<LearnedVector>& vectors);

// kTwo: each side of a gate has a bias, as in torch.nn; with Adam their sum moves twice as fast. kOne: the input's
// side.
enum class Biases { kTwo, kOne };

struct CellProgram {
  std::vector<GateSides> gates;
  std::vector<std::string> states;  // the first is the hidden state, which products read and the layer above reads
  std::vector<LearnedVector> vectors;
  Biases biases = Biases::kTwo;
  bool has_heads = false;  // the products of the hidden state may be divided into heads

  Graph graph;
  std::vector<NodeId> new_states;  // by state
  std::string hash;                // the SHA-256 of canonical_text in hexadecimal digits, which parse_cell sets once

  // Returns how many gates read the input, or the hidden state: the rows of weight_ih and weight_hh, in units of H.
  int64_t num_input_gates() const;
  int64_t num_hidden_gates() const;
  bool has_input_biases() const { return num_input_gates() > 0; }
  bool has_hidden_biases() const { return biases == Biases::kTwo && num_hidden_gates() > 0; }

  // Returns whether a product reads an expression instead of the hidden state, so that it waits for other products.
  bool has_dependent_product() const;

  // Returns a text that is equal for two programs only if they have the same parameters and compute the same. It does
  // not depend on the names of values, nor on the order of the two operands of a sum or a product.
  std::string canonical_text() const;
};

// The limits of a program, which kernels rely on.
inline constexpr size_t kMostOperations = 256, kMostGates = 8, kMostStates = 4, kMostVectors = 8, kMostDepth = 64;

}  // namespace rnnlab
