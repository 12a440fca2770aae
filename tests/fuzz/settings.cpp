// SPDX-License-Identifier: Apache-2.0
#include "fuzz/settings.h"

#include <algorithm>

#include "base/config/sweep.h"
#include "fuzz/fuzz_support.h"

namespace rnnlab::testing {
namespace {

using config::Document;
using config::Findings;
using config::StructSpec;

config::Schema<Settings> make_schema() {
  config::Schema<Settings> s("Settings");
  s.field("name", &Settings::name, "a text");
  s.field("layer", &Settings::layer, "a choice");
  s.field("cudnn_algorithm", &Settings::cudnn_algorithm, "a choice");
  s.field("seed", &Settings::seed, "an integer").at_least(0);
  s.field("deterministic", &Settings::deterministic, "a bool");
  s.group("data", &Settings::data, "a group", DataSettings::schema());
  s.group("model", &Settings::model, "a group", ModelSettings::schema());
  s.group("training", &Settings::training, "a group", TrainingSettings::schema());
  return s;
}

bool same(const StructSpec& spec, const void* a, const void* b) {
  return std::ranges::all_of(spec.entries, [&](const config::Entry& entry) {
    if (const auto* field = entry.field()) return field->get(a) == field->get(b);
    return same(*entry.group()->spec, entry.group()->const_member(a), entry.group()->const_member(b));
  });
}

Document reread(const std::string& text) {
  Findings findings;
  Document document = Document::from_text(text, "printed.yaml", findings);
  require(findings.empty());
  return document;
}

void require_reads_back(const Settings& settings) {
  Findings findings;
  const Settings again =
      config::read(reread(config::print(settings, Settings::schema())), Settings::schema(), findings);
  require(findings.empty() && same(Settings::schema().spec(), &settings, &again));
}

void require_same_sweep(const Document& document, const config::Sweep& sweep) {
  Findings findings;
  const std::string text = config::print_sweep(document);
  const config::Sweep again(reread(text.empty() ? "{}\n" : text), findings);
  require(findings.empty() && again.num_cases() == sweep.num_cases());
  for (size_t i = 0; i < sweep.num_cases(); ++i) require(again.label(i) == sweep.label(i));
}

void read_back(const Document& document, Findings& findings) {
  const Settings settings = config::read(document, Settings::schema(), findings);
  if (findings.empty()) require_reads_back(settings);
}

void require_lines(const Findings& findings) {
  for (const std::string& line : findings.lines()) require(line.find('\n') == std::string::npos);
}

}  // namespace

const config::Schema<Settings>& Settings::schema() {
  static const config::Schema<Settings> schema = make_schema();
  return schema;
}

void expect_reads_back_or_findings(const Document& document, Findings findings) {
  const config::Sweep sweep(document, findings);
  if (findings.empty()) require_same_sweep(document, sweep);
  read_back(sweep.document(sweep.num_cases() - 1), findings);
  require_lines(findings);
}

}  // namespace rnnlab::testing
