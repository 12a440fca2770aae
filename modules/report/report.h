// The content of a report, independent of its presentation: sections of notices, sentences, tables and charts. Texts
// from files are untrusted, and the writers (html.h, markdown.h, figures.h) must escape them.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/chart.h"
#include "system/table.h"

namespace rnnlab::report {

enum class Severity {
  kRefusal,  // the numbers must not be used as a comparison
  kWarning,  // the numbers are doubtful
  kNote,
};

struct Notice {
  Severity severity = Severity::kNote;
  std::string title;
  std::vector<std::string> lines;
};

struct Sentences {
  std::vector<std::string> lines;
};

struct Heading {
  std::string text;
};

struct NamedTable {
  std::string id;  // of letters, digits, '-' and '_'; like a chart's
  std::string title;
  TextTable table;
  Prominence prominence = Prominence::kOpen;
};

using Block = std::variant<Notice, Sentences, Heading, NamedTable, Chart>;

struct Section {
  std::string id;
  std::string heading;
  std::vector<Block> blocks;
};

struct Report {
  std::string title;
  std::vector<Block> opening;  // before everything else
  std::vector<Section> sections;
};

}  // namespace rnnlab::report
