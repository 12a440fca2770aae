// SPDX-License-Identifier: Apache-2.0
#include "layers/program/random_cell.h"

#include <fmt/format.h>

#include <regex>

#include "base/random.h"

namespace rnnlab {
namespace {

class RandomEquations {
 public:
  explicit RandomEquations(uint64_t seed) : random_(seed) {}

  CellText write() {
    CellText text;
    for (uint64_t i = 0, count = 1 + below(4); i < count; ++i) text.gates.push_back(fmt::format("g{}", i));
    text.states = {"h"};
    for (uint64_t i = 0, count = below(3); i < count; ++i) text.states.push_back(fmt::format("s{}", i));
    if (below(2) == 0) text.vectors = {{"v", {}}, {"w", {"a", "b"}}};
    text.biases = below(2) == 0 ? Biases::kTwo : Biases::kOne;
    // Each leaf is read at least once; then random expressions combine what there is.
    for (const std::string& gate : text.gates) values_.push_back(read_gate(gate));
    for (const std::string& state : text.states) values_.push_back(state);
    if (!text.vectors.empty()) values_.insert(values_.end(), {"v", "w.a", "w.b"});
    std::string sum = values_[0];
    for (size_t i = 1; i < values_.size(); ++i)
      sum = fmt::format("{} {} {}", sum, below(2) == 0 ? "+" : "-", values_[i]);
    text.equations = fmt::format("all = tanh({})  # reads every leaf\n", sum);
    values_.emplace_back("all");
    for (size_t i = text.states.size(); i-- > 0;)
      text.equations += fmt::format("new{} = {}\n", i, bounded(expression(4)));
    for (size_t i = 0; i < text.states.size(); ++i)
      text.equations += fmt::format("{} = new{} + 0.1 * all\n", text.states[i], i);
    return text;
  }

 private:
  uint64_t below(uint64_t bound) { return random_.next() % bound; }
  const std::string& value() { return values_[below(values_.size())]; }

  std::string read_gate(const std::string& gate) {
    switch (below(5)) {
      case 0:
        return "x." + gate;
      case 1:
        return "h." + gate;
      case 2:
        return fmt::format("x.{0} * h.{0}", gate);
      case 3:
        return fmt::format("x.{0} + h.{0}({1})", gate, bounded(values_.empty() ? "h" : value() + " * h"));
      default:
        return gate;
    }
  }

  std::string bounded(const std::string& text) {
    return fmt::format("{}({})", below(2) == 0 ? "tanh" : "sigmoid", text);
  }

  std::string expression(int depth) {
    if (depth == 0) return value();
    const std::string a = expression(depth - 1), b = expression(below(2) == 0 ? 0 : depth - 1);
    switch (below(16)) {
      case 0:
        return fmt::format("({} + {})", a, b);
      case 1:
        return fmt::format("({} - {})", a, b);
      case 2:
        return fmt::format("{} * {}", a, b);
      case 3:
        return fmt::format("{} / (1.5 + abs({}))", a, b);
      case 4:
        return fmt::format("-{}", a);
      case 5:
        return fmt::format("relu({})", a);
      case 6:
        return fmt::format("exp(tanh({}))", a);
      case 7:
        return fmt::format("log(1.5 + abs({}))", a);
      case 8:
        return fmt::format("softplus({})", a);
      case 9:
        return fmt::format("log_sigmoid({})", a);
      case 10:
        return fmt::format("min({}, {})", a, b);
      case 11:
        return fmt::format("max({}, 0.25)", a);
      case 12:
        return fmt::format("where({} < {}, {}, {})", a, b, value(), value());
      case 13:
        return fmt::format("where({} >= 0.5, {}, 2)", a, b);
      case 14:
        return fmt::format("constant({}) * {}", a, b);
      default:
        return bounded(a);
    }
  }

  SplitMix64 random_;
  std::vector<std::string> values_;
};

}  // namespace

CellText random_cell(uint64_t seed) { return RandomEquations(seed).write(); }

namespace {

void replace(std::string& text, const std::string& pattern, const std::string& by) {
  text = std::regex_replace(text, std::regex(pattern), by);
}

}  // namespace

CellText random_cell_of_units(uint64_t seed) {
  CellText text = random_cell(seed);
  for (const std::string& gate : text.gates) {
    replace(text.equations, "h\\." + gate + "\\b", "h * x." + gate);
    replace(text.equations, "(^|[^.\\w])" + gate + "\\b", "$1x." + gate);
  }
  replace(text.equations, "(x\\.g\\d)\\(", "$1 * (");
  return text;
}

CellText random_cell_of_sums(uint64_t seed) {
  CellText text = random_cell(seed);
  replace(text.equations, "h\\.(g\\d)\\(", "$1 * (");
  for (size_t i = 0; i + 1 < text.gates.size(); ++i)
    replace(text.equations, "[xh]\\." + text.gates[i] + "\\b", text.gates[i]);
  if (text.states.size() > 1) replace(text.equations, "(^|[^.\\w])h\\b(?!\\.| =)", "$1s0");
  return text;
}

}  // namespace rnnlab
