// SPDX-License-Identifier: Apache-2.0
// The dates of the rows of series, as the file writes them: of its own rows, and of rows that it does not have, which
// follow by the step of the series (data.frequency, or the usual one).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/csv_part.h"
#include "data/readers/time_grid.h"
#include "data/readers/time_text.h"

namespace rnnlab {

class RowDates {
 public:
  // `part` and `settings` outlive this object.
  RowDates(const CsvPart& part, const DataSettings& settings);

  // Returns the name of the column with the times, or "".
  const std::string& column_name() const { return name_; }

  // Returns the date of a row of the series or of one after its end; "" if none can be computed.
  std::string of(const CsvSeries& series, int64_t row);

  // Returns the time of a row after the end of the series, in microseconds as the file counts; nullopt if none can be
  // computed.
  std::optional<int64_t> time_after_end(const CsvSeries& series, int64_t row);

 private:
  // The times of the column, in the order of the table, and how they are written.
  struct Column {
    std::vector<int64_t> times;
    TimeForm form;
  };
  // What the rows after the end of a series follow.
  struct End {
    TimeGrid grid;  // of the local times
    int64_t last = 0;
  };

  const std::optional<Column>& column();
  std::optional<TimeForm> form_of_last(const std::vector<int64_t>& times, size_t most) const;
  std::vector<int64_t> local_times_of(const CsvSeries& series);
  std::optional<TimeStep> step_of(const std::vector<int64_t>& times);
  std::optional<End> end_of(const CsvSeries& series);
  std::string of_row(int64_t row);

  const CsvPart& part_;
  const DataSettings& settings_;
  std::string name_;
  int64_t place_ = -1;                           // of the column in the table
  std::optional<std::optional<Column>> column_;  // read when it is first needed
  std::map<int64_t, std::optional<End>> ends_;   // by the first row of the series
};

}  // namespace rnnlab
