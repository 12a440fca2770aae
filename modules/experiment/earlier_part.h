// What the parts of a run before this one left; nothing for a new run.
#pragma once

#include <string>
#include <vector>

#include "results/epoch_row.h"
#include "results/warning.h"

namespace rnnlab {

struct EarlierPart {
  std::vector<EpochRow> rows = {};
  double seconds = 0;                          // that they took
  std::vector<std::string> notes = {};         // for the summary: where the run was taken up
  std::vector<Warning> earlier_warnings = {};  // of those parts, for the summary: none is news
  std::vector<Warning> warnings = {};          // of taking it up: for the summary and the log
};

}  // namespace rnnlab
