// Fields as a line of CSV (RFC 4180, with a plain line end): quoted if they hold a comma, a quote or a line end.
// The tables written with it are opened in spreadsheets. A text that begins with = + - @, a tab or a carriage return
// gets a leading ', because a spreadsheet would run it as a formula; numbers stay as they are. Predictions are data for
// programs, so their texts stay unchanged (inference/prediction_file.h).
#pragma once

#include <string>
#include <vector>

namespace rnnlab {

enum class Formulas { kEscaped, kUnchanged };

std::string csv_line(const std::vector<std::string>& fields, Formulas formulas = Formulas::kEscaped);

}  // namespace rnnlab
