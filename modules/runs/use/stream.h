// SPDX-License-Identifier: Apache-2.0
// Predicts the rows of growing series as they arrive: each row is one step, and the state of the recurrent layers is
// carried from a row to the next one of its series. The prediction of a row is that of one long sequence of all rows of
// the series so far. Rows are computed one at a time, so the predictions do not depend on how the rows are cut into
// calls. For models that read in one direction and end with the last step; others are refused with the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/step_reader.h"
#include "runs/use/stream_state.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

inline constexpr size_t kLongestStreamRow = size_t{64} << 20;  // in bytes

// A stream may run for months, so it remembers only so many of the notes that it has given.
inline constexpr ptrdiff_t kMostNotesKept = 1000;

enum class StreamForm { kCsv, kJsonl };

class Stream {
 public:
  // `trained` must outlive the stream; `source` names where the rows come from, for messages. Throws UserError kUsage
  // with the reason if the model cannot be used so.
  Stream(const TrainedModel& trained, StreamState state, StreamForm form, std::string source);

  // Reads one line; `number` counts them from 1. Passes the prediction to `print`, for the first row of CSV after a
  // line of names. A line that only has names, is blank, or ends within quotes passes nothing. The state is that after
  // the row when `print` has returned, and that before it if this function throws. Throws UserError kData.
  void read_line(const std::string& line, int64_t number, const std::function<void(std::string_view)>& print);

  // Throws UserError kData if the lines ended within quotes, or without the names of the columns.
  void end() const;

  const StreamState& state() const { return state_; }

  // Returns what readers of rows have noted since the last call, and not among the kMostNotesKept notes before.
  std::vector<std::string> take_notes();

 private:
  void read_row(const std::string& text, int64_t number, const std::function<void(std::string_view)>& print);
  std::string text_of(const StreamRow& row, const Samples& samples, const at::Tensor& outputs);
  void note(const std::vector<std::string>& notes);

  const TrainedModel& trained_;
  StepReader reader_;
  RowEnds ends_;
  StreamState state_;
  StreamForm form_;
  std::string source_;
  std::string open_text_;  // lines of a row that ends within quotes
  int64_t open_line_ = 0;  // where it begins
  bool has_names_ = false;
  bool is_begun_ = false;  // whether the names of the table were printed
  int64_t num_rows_ = 0;
  std::vector<std::string> notes_, taken_notes_;
};

// Throws UserError kUsage for a setting that has no effect on a stream. overrides: "data.path=x.csv".
void require_stream_settings(const std::vector<std::string>& overrides);

}  // namespace rnnlab
