// SPDX-License-Identifier: Apache-2.0
#include "layers/program/parse_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "layers/program/join_sides.h"

namespace rnnlab {
namespace {

constexpr int32_t kOnlyRows = -1;  // the index of a vector that has no value of its own
constexpr size_t kMostMistakes = 100;
constexpr size_t kMostCharacters = size_t{1} << 16, kMostOfName = 64;
constexpr std::string_view kInputName = "x", kHiddenName = "h", kInfinityName = "inf";

bool can_be_listed(std::string_view text) { return text.size() <= kMostOfName && is_name(text); }

// What a name of the lists means before it is assigned.
struct Meaning {
  Operation leaf = Operation::kState;  // kGate: both sides
  int32_t index = 0;
};

// Reads the equations of a cell whose lists of names have been read.
class Parser {
 public:
  Parser(const CellText& text, ParsedCell& parsed)
      : text_(text),
        parsed_(parsed),
        graph_(parsed.program.graph),
        tokens_(tokens_of(text.equations, parsed.mistakes)) {
    declare_all();
    parsed_.program.new_states.assign(text.states.size(), kNoNode);
  }

  void run() {
    while (token().kind != TokenKind::kEnd && parsed_.mistakes.size() < kMostMistakes) {
      try {
        equation();
      } catch (const Stop&) {
        skip_line();
        values_.try_emplace(target_, placeholder());
      }
    }
    check_all_read();
  }

 private:
  struct Stop {};  // ends an equation after a mistake

  // ---- names ----

  void declare_all() {
    declare_list(text_.gates, "gate", "gates", Operation::kGate);
    declare_list(text_.states, "state", "states", Operation::kState);
    int32_t row = 0;
    for (const LearnedVector& vector : text_.vectors) {
      if (vector.name == kHiddenName || vector.name.starts_with("weight_") || vector.name.starts_with("bias_"))
        complain_of("vectors", fmt::format("a vector cannot be called {}, which a cell has otherwise", vector.name));
      declare(vector.name, "vector", "vectors", {Operation::kVector, vector.rows.empty() ? row++ : kOnlyRows});
      for (const std::string& name : vector.rows) {
        if (!can_be_listed(name)) complain_of("vectors", fmt::format("{} is not a name of a row", in_quotes(name)));
        if (!rows_.emplace(vector.name + "." + name, row++).second)
          complain_of("vectors", fmt::format("the row {}.{} is listed twice", vector.name, name));
      }
    }
  }

  void declare_list(const std::vector<std::string>& names, const char* what, const char* key, Operation leaf) {
    int32_t index = 0;
    for (const std::string& name : names) declare(name, what, key, {leaf, index++});
  }

  // A name with a mistake is still declared, so that its uses are not reported as well.
  void declare(const std::string& name, const char* what, const char* key, Meaning meaning) {
    const auto [known, is_new] = meanings_.emplace(name, meaning);
    if (!can_be_listed(name))
      return complain_of(key, fmt::format("{} is not a name: use letters, digits and _", in_quotes(name)));
    if (name == kInputName || name == kInfinityName || function_with(name))
      return complain_of(key, fmt::format("the {} cannot be called {}, which equations use otherwise", what, name));
    const bool is_hidden = meaning.leaf == Operation::kState && meaning.index == 0;
    if (name == kHiddenName && !is_hidden)
      return complain_of(key, fmt::format("the {} cannot be called h, which is the hidden state, the first one", what));
    if (is_new) return;
    const Operation other = known->second.leaf;
    if (other == meaning.leaf) return complain_of(key, fmt::format("the {} {} is listed twice", what, name));
    const char* const other_what = other == Operation::kGate ? "gate" : "state";
    complain_of(key, fmt::format("{0} is the name of a {1} and of a {2}: rename one of them", name, other_what, what));
  }

  // ---- equations ----

  void equation() {
    if (token().kind == TokenKind::kLineEnd) return next();
    const Token target = token();
    if (target.kind != TokenKind::kName)
      stop(target, fmt::format("expected a name that is assigned, got {}", shown(target)));
    next();
    target_ = target.text;
    attempted_.insert(target_);
    expect("=", "after the name that is assigned");
    const NodeId value = number_of_expression();
    if (token().kind != TokenKind::kLineEnd)
      stop(token(), fmt::format("expected the end of the equation, got {}", shown(token())));
    next();
    assign(target, value);
  }

  void assign(const Token& target, NodeId value) {
    const std::string& name = target.text;
    if (name == kInputName || name == kInfinityName || function_with(name))
      return complain(target, fmt::format("{} cannot be assigned", name));
    if (values_.contains(name))
      return complain(target, fmt::format("{} is assigned twice: give the first value another name", name));
    const auto found = meanings_.find(name);
    if (found != meanings_.end() && found->second.leaf == Operation::kVector)
      return complain(target, fmt::format("{} is a learned vector and cannot be assigned", name));
    if (name == kHiddenName && found == meanings_.end()) return complain(target, "h is not in the list of states");
    values_[name] = value;
    targets_.push_back(target);
    if (found != meanings_.end() && found->second.leaf == Operation::kState)
      parsed_.program.new_states[static_cast<size_t>(found->second.index)] = value;
  }

  // ---- expressions ----

  NodeId number_of_expression() {
    const NodeId value = sum();
    if (is_comparison(token())) stop(token(), "a comparison can only be the first argument of where");
    return value;
  }

  NodeId sum() {
    NodeId value = product();
    while (is_sign("+") || is_sign("-")) {
      const Operation operation = is_sign("+") ? Operation::kAdd : Operation::kSubtract;
      next();
      value = graph_.add(operation, value, product());
    }
    return value;
  }

  NodeId product() {
    NodeId value = factor();
    while (is_sign("*") || is_sign("/")) {
      const Operation operation = is_sign("*") ? Operation::kMultiply : Operation::kDivide;
      next();
      value = graph_.add(operation, value, factor());
    }
    if (is_sign("**") || is_sign("^")) stop(token(), "there are no powers: write a product, or exp and log");
    return value;
  }

  NodeId factor() {
    const Depth depth(*this);
    if (is_sign("-")) {
      next();
      return graph_.add(Operation::kNegate, factor());
    }
    if (is_sign("(")) {
      next();
      const NodeId value = number_of_expression();
      expect(")", "to close the parenthesis");
      return value;
    }
    const Token first = token();
    if (first.kind == TokenKind::kNumber) {
      next();
      return graph_.number(first.number);
    }
    if (first.kind != TokenKind::kName) stop(first, fmt::format("expected a value, got {}", shown(first)));
    next();
    if (is_sign("(")) return call(first);
    if (is_sign(".")) return member(first);
    return value_of(first);
  }

  // Stands for a value that a mistake has left unknown, so that its uses are not reported as well.
  NodeId placeholder() { return graph_.number(1); }

  NodeId value_of(const Token& name) {
    if (name.text == kInfinityName) return graph_.number(std::numeric_limits<double>::infinity());
    if (const auto found = values_.find(name.text); found != values_.end()) return found->second;
    const auto found = meanings_.find(name.text);
    if (found == meanings_.end()) {
      if (unknown_.insert(name.text).second) complain(name, unknown(name.text));
      if (parsed_.mistakes.size() >= kMostMistakes) throw Stop{};
      return placeholder();
    }
    const auto [leaf, index] = found->second;
    if (index == kOnlyRows)
      stop(name, fmt::format("{} has rows: read one of them, such as {}.ROW", name.text, name.text));
    if (leaf != Operation::kGate) return graph_.leaf(leaf, index);
    return graph_.add(Operation::kAdd, graph_.leaf(Operation::kInputSide, index),
                      graph_.leaf(Operation::kHiddenSide, index));
  }

  // Reads "x.f", "h.f", "h.f(e)" or a row of a vector, such as "peephole.i".
  NodeId member(const Token& owner) {
    next();
    const Token name = token();
    if (name.kind != TokenKind::kName) stop(name, fmt::format("expected a name after the dot, got {}", shown(name)));
    next();
    if (const auto row = rows_.find(owner.text + "." + name.text); row != rows_.end())
      return graph_.leaf(Operation::kVector, row->second);
    if (owner.text != kInputName && owner.text != kHiddenName)
      stop(owner, fmt::format("unknown {}.{}: sides of a gate are x.GATE and h.GATE{}", owner.text, name.text,
                              rows_.empty() ? "" : ", and rows of a vector are those of its list"));
    const auto gate = meanings_.find(name.text);
    if (gate == meanings_.end() || gate->second.leaf != Operation::kGate)
      stop(name, fmt::format("{} is not a gate{}", name.text, did_you_mean(name.text, text_.gates)));
    const int32_t index = gate->second.index;
    if (owner.text == kInputName) return graph_.leaf(Operation::kInputSide, index);
    if (is_sign("(")) return product_with(index);
    if (values_.contains(text_.states.front()))
      stop(name, fmt::format("h.{0} is the product with {1} before the step: read it before {1} is assigned", name.text,
                             text_.states.front()));
    return graph_.leaf(Operation::kHiddenSide, index);
  }

  NodeId product_with(int32_t gate) {
    next();
    const NodeId operand = number_of_expression();
    expect(")", "to close the operand of the product");
    const Node& node = graph_[operand];
    const bool is_hidden_state = node.operation == Operation::kState && node.index == 0;
    return is_hidden_state ? graph_.leaf(Operation::kHiddenSide, gate) : graph_.hidden_product(gate, operand);
  }

  NodeId call(const Token& name) {
    const auto function = function_with(name.text);
    if (!function) stop(name, unknown_function(name.text));
    next();
    std::vector<NodeId> arguments = {*function == Operation::kWhere ? condition() : number_of_expression()};
    bool is_negated = *function == Operation::kWhere && is_negated_;
    while (is_sign(",")) {
      next();
      arguments.push_back(number_of_expression());
    }
    expect(")", fmt::format("to close {}", name.text));
    const auto wanted = static_cast<size_t>(info_of(*function).num_arguments);
    if (arguments.size() != wanted)
      stop(name,
           fmt::format("{} takes {} argument{}, got {}", name.text, wanted, wanted == 1 ? "" : "s", arguments.size()));
    if (is_negated) std::swap(arguments[1], arguments[2]);
    arguments.resize(3, kNoNode);
    return graph_.add(*function, arguments[0], arguments[1], arguments[2]);
  }

  // Sets is_negated_ if the values of `where` are to be exchanged.
  NodeId condition() {
    const NodeId left = sum();
    const Token comparison = token();
    if (!is_comparison(comparison))
      stop(comparison, "expected a comparison as the first argument of where, such as a < b");
    next();
    const NodeId right = sum();
    is_negated_ = comparison.text == "!=";
    if (comparison.text == "<") return graph_.add(Operation::kLess, left, right);
    if (comparison.text == "<=") return graph_.add(Operation::kLessOrEqual, left, right);
    if (comparison.text == ">") return graph_.add(Operation::kLess, right, left);
    if (comparison.text == ">=") return graph_.add(Operation::kLessOrEqual, right, left);
    return graph_.add(Operation::kEqual, left, right);
  }

  // ---- checks of the whole ----

  void check_all_read() {
    const bool can_be_read = parsed_.mistakes.empty();
    complain_of_states_without_value();
    if (!can_be_read) return;
    const std::vector<bool> needed = needed_for(graph_, parsed_.program.new_states);
    for (const Token& target : targets_) {
      const bool is_state = meanings_.contains(target.text) && meanings_.at(target.text).leaf == Operation::kState;
      if (!is_state && !needed[static_cast<size_t>(values_.at(target.text))])
        complain(target, fmt::format("{} is never used: remove the equation, or use it", target.text));
    }
    check_leaves(needed);
    const auto count = static_cast<size_t>(std::ranges::count(needed, true));
    if (count > kMostOperations)
      complain_of("equations", fmt::format("{} operations, expected at most {}", count, kMostOperations));
  }

  // A state that is never assigned counts as one that keeps its value.
  void complain_of_states_without_value() {
    for (size_t i = 0; i < text_.states.size(); ++i) {
      const std::string& state = text_.states[i];
      if (attempted_.contains(state) || !meanings_.contains(state)) continue;
      complain_of("states", fmt::format("the state {} is never assigned", state));
      parsed_.program.new_states[i] = graph_.leaf(Operation::kState, static_cast<int32_t>(i));
    }
  }

  void check_leaves(const std::vector<bool>& needed) {
    std::set<int32_t> gates, rows;
    std::map<int32_t, int> products;
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      const Node& node = graph_.nodes()[i];
      const bool is_product = node.operation == Operation::kHiddenSide || node.operation == Operation::kHiddenProduct;
      if (is_product || node.operation == Operation::kInputSide) gates.insert(node.index);
      if (node.operation == Operation::kVector) rows.insert(node.index);
      if (node.operation == Operation::kNumber) check_number(node.number);
      if (is_product) products[node.index] += 1;
    }
    for (size_t i = 0; i < text_.gates.size(); ++i)
      if (!gates.contains(static_cast<int32_t>(i)))
        complain_of("gates", fmt::format("the gate {} is never read", text_.gates[i]));
    for (const auto& [gate, count] : products)
      if (count > 1)
        complain_of("equations", fmt::format("h.{} is multiplied by more than one value; each gate has one product",
                                             text_.gates[static_cast<size_t>(gate)]));
    int32_t row = 0;
    for (const LearnedVector& vector : text_.vectors)
      for (int64_t i = 0; i < vector.num_rows(); ++i)
        if (!rows.contains(row++))
          complain_of("vectors", fmt::format("the vector {} is never read", vector.row_name(i)));
    if (text_.has_heads && products.empty())
      complain_of("heads", "heads divide the products of the hidden state, and no gate has one");
  }

  // Every layer computes in types down to float32, and NaN is no value to train with.
  void check_number(double number) {
    constexpr double kMostFloat = 3e38;
    if (std::isnan(number)) complain_of("equations", "a part of the equations is not a number, such as 0 / 0");
    if (std::isfinite(number) && std::abs(number) > kMostFloat)
      complain_of("equations", fmt::format("{} is beyond float32: write inf", format_shortest(number)));
  }

  // ---- tokens and mistakes ----

  // Counts how deep the parser is in an expression, so that its recursion ends.
  class Depth {
   public:
    explicit Depth(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostDepth) {
        --parser_.depth_;
        parser_.stop(parser_.token(), fmt::format("more than {} levels of parentheses", kMostDepth));
      }
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Parser& parser_;
  };

  const Token& token() const { return tokens_[at_]; }
  void next() { at_ = std::min(at_ + 1, tokens_.size() - 1); }
  bool is_sign(std::string_view sign) const { return token().kind == TokenKind::kSign && token().text == sign; }

  static bool is_comparison(const Token& token) {
    constexpr std::string_view kComparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    return token.kind == TokenKind::kSign && std::ranges::count(kComparisons, token.text) > 0;
  }

  void expect(std::string_view sign, const std::string& why) {
    if (!is_sign(sign)) stop(token(), fmt::format("expected {} {}, got {}", sign, why, shown(token())));
    next();
  }

  static std::string shown(const Token& token) {
    const bool is_end = token.kind == TokenKind::kLineEnd || token.kind == TokenKind::kEnd;
    return is_end ? "the end of the line" : in_quotes(token.text);
  }

  static std::string unknown_function(const std::string& name) {
    const std::string meant = did_you_mean(name, function_names());
    return fmt::format("unknown function {}{}", name,
                       meant.empty() ? fmt::format("; there are {}", join_with_and(function_names())) : meant);
  }

  std::string unknown(const std::string& name) const {
    if (name == kInputName) return "x is not a value of its own: x.GATE is a gate's product with the input";
    if (function_with(name)) return fmt::format("{} is a function: its argument follows in parentheses", name);
    std::vector<std::string> names;
    for (const auto& [known, meaning] : meanings_) names.push_back(known);
    for (const auto& [known, value] : values_) names.push_back(known);
    return fmt::format("unknown name {}{}", name, did_you_mean(name, names));
  }

  void skip_line() {
    while (token().kind != TokenKind::kLineEnd && token().kind != TokenKind::kEnd) next();
  }

  void complain(const Token& place, std::string message) {
    parsed_.mistakes.push_back({.line = place.line, .column = place.column, .message = std::move(message)});
  }
  void complain_of(const char* key, std::string message) {
    parsed_.mistakes.push_back({.message = std::move(message), .key = key});
  }

  [[noreturn]] void stop(const Token& place, std::string message) {
    complain(place, std::move(message));
    throw Stop{};
  }

  const CellText& text_;
  ParsedCell& parsed_;
  Graph& graph_;
  std::vector<Token> tokens_;
  std::map<std::string, Meaning> meanings_;  // of the names in the lists
  std::map<std::string, int32_t> rows_;      // of vectors, such as "peephole.i"
  std::map<std::string, NodeId> values_;     // of the names that were assigned
  std::vector<Token> targets_;
  std::set<std::string> attempted_;  // names of equations, also of those with mistakes
  std::set<std::string> unknown_;    // names that were reported
  std::string target_;               // the name of the equation that is read
  size_t at_ = 0, depth_ = 0;
  bool is_negated_ = false;
};

void check_counts(const CellText& text, std::vector<EquationMistake>& mistakes) {
  const auto check = [&](const char* key, const char* what, size_t count, size_t least, size_t most) {
    if (count < least || count > most)
      mistakes.push_back({.message = fmt::format("{} {}, expected {} to {}", count, what, least, most), .key = key});
  };
  check("gates", "gates", text.gates.size(), 1, kMostGates);
  check("states", "states", text.states.size(), 1, kMostStates);
  check("vectors", "rows of vectors", num_rows(text.vectors), 0, kMostVectors);
  check("equations", "characters of equations", text.equations.size(), 1, kMostCharacters);
}

void set_sides(CellProgram& program) {
  for (const Node& node : program.graph.nodes()) {
    const bool is_sum = node.operation == Operation::kGate;
    if (is_sum) program.gates[static_cast<size_t>(node.index)].is_sum = true;
    if (is_sum || node.operation == Operation::kInputSide)
      program.gates[static_cast<size_t>(node.index)].reads_input = true;
    if (is_sum || node.operation == Operation::kHiddenSide || node.operation == Operation::kHiddenProduct)
      program.gates[static_cast<size_t>(node.index)].reads_hidden = true;
  }
}

}  // namespace

ParsedCell parse_cell(const CellText& text) {
  ParsedCell parsed;
  check_counts(text, parsed.mistakes);
  if (!parsed.mistakes.empty()) return parsed;
  CellProgram& program = parsed.program;
  for (const std::string& name : text.gates) program.gates.push_back({name});
  program.states = text.states;
  program.vectors = text.vectors;
  program.biases = text.biases;
  program.has_heads = text.has_heads;
  Parser(text, parsed).run();
  std::ranges::stable_sort(parsed.mistakes, {},
                           [](const EquationMistake& one) { return std::pair(one.line, one.column); });
  if (!parsed.mistakes.empty()) return parsed;
  program = with_joined_sides(program);
  set_sides(program);
  program.hash = Sha256().update(program.canonical_text()).hex();
  return parsed;
}

CellProgram program_of(const CellText& text) {
  ParsedCell parsed = parse_cell(text);
  RNNLAB_INVARIANT(parsed.mistakes.empty(), parsed.mistakes.front().message);
  return std::move(parsed.program);
}

}  // namespace rnnlab
