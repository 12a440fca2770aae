// SPDX-License-Identifier: Apache-2.0
#include "layers/cells/cell_settings.h"

#include <algorithm>

namespace rnnlab {
namespace {

void complain_of(const EquationMistake& mistake, config::Checker& checker) {
  if (mistake.line == 0) return checker.complain({mistake.key}, mistake.message);
  checker.complain_in_text("equations", {static_cast<int>(mistake.line), static_cast<int>(mistake.column)},
                           mistake.message);
}

void check_cell(const CellSettings& settings, config::Checker& checker) {
  if (!settings.is_given()) {
    if (settings.text() != CellSettings{}.text() || settings.name != CellSettings{}.name)
      checker.complain({"equations"}, "the cell has no equations: write them, or name a cell");
    return;
  }
  for (const char* key : {"gates", "states", "vectors", "equations"})
    if (checker.has_finding(key)) return;
  for (const EquationMistake& mistake : parse_cell(settings.text()).mistakes) complain_of(mistake, checker);
}

config::Schema<CellSettings> make_schema() {
  config::Schema<CellSettings> s("A recurrent cell");
  s.field("name", &CellSettings::name, "the cell's name for people").not_empty();
  s.field("gates", &CellSettings::gates, "names of the gates, in the order of the rows of their weights");
  s.field("states", &CellSettings::states,
          "names of the states; the first is the hidden state, which is also the output");
  s.field("vectors", &CellSettings::vectors,
          "names of learned numbers of each unit; p.i and p.f are rows of one parameter p");
  s.field("biases", &CellSettings::biases,
          "two: one for each side of a gate, as in torch.nn; one: of the input's side");
  s.field("heads", &CellSettings::heads, "whether model.heads may divide the products of the hidden state");
  s.field("equations", &CellSettings::equations,
          "one step of one unit: lines such as `f = sigmoid(f)`; each state is assigned once");
  s.check(check_cell);
  s.refuse_sweep();
  return s;
}

}  // namespace

CellText CellSettings::text() const {
  CellText text{.gates = gates, .states = states, .equations = equations, .biases = biases, .has_heads = heads};
  for (const std::string& vector : vectors) {
    const size_t dot = vector.find('.');
    const std::string parameter = vector.substr(0, dot);
    auto known = std::ranges::find(text.vectors, parameter, &LearnedVector::name);
    if (known == text.vectors.end() || dot == std::string::npos)
      known = text.vectors.insert(text.vectors.end(), {parameter, {}});
    if (dot != std::string::npos) known->rows.push_back(vector.substr(dot + 1));
  }
  return text;
}

CellSettings settings_of(const CellText& text, const std::string& name) {
  CellSettings settings{.name = name,
                        .gates = text.gates,
                        .states = text.states,
                        .vectors = {},
                        .biases = text.biases,
                        .heads = text.has_heads,
                        .equations = text.equations};
  for (const LearnedVector& vector : text.vectors)
    for (int64_t row = 0; row < vector.num_rows(); ++row) settings.vectors.push_back(vector.row_name(row));
  return settings;
}

bool is_cell_file(const std::string& text) { return text.ends_with(".yaml") || text.ends_with(".yml"); }

CellSettings read_cell_file(const std::string& path) {
  config::Findings findings;
  const auto document = config::Document::from_file(path, findings);
  CellSettings settings = config::read(document, CellSettings::schema(), findings);
  if (findings.empty() && !settings.is_given())
    findings.add({.source = path},
                 "the file has no equations; `rnnlab cell lstm` prints those of a cell as an example");
  findings.throw_if_any();
  return settings;
}

const config::Schema<CellSettings>& CellSettings::schema() {
  static const config::Schema<CellSettings> schema = make_schema();
  return schema;
}

}  // namespace rnnlab
