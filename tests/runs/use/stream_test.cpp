// SPDX-License-Identifier: Apache-2.0
#include "runs/use/stream.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/expect_error.h"
#include "base/text.h"
#include "golden.h"
#include "runs/use/generate_text.h"
#include "runs/use/predict.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Streams : public testing::TrainedRuns {
 protected:
  // Returns what is printed for the lines. `state` is that before them, and then that after them.
  static Words printed(const TrainedModel& trained, const Words& lines, StreamState& state, StreamForm form) {
    Stream stream(trained, state, form, "rows");
    Words texts;
    for (size_t i = 0; i < lines.size(); ++i)
      stream.read_line(lines[i], static_cast<int64_t>(i) + 1, [&](std::string_view text) { texts.emplace_back(text); });
    stream.end();
    state = stream.state();
    return texts;
  }

  // Returns the predicted value of each row, or the first of several.
  static std::vector<double> values(const TrainedModel& trained, const Words& lines, StreamState& state) {
    std::vector<double> values;
    for (const std::string& text : printed(trained, lines, state, StreamForm::kJsonl)) {
      const auto json = nlohmann::json::parse(text);
      const auto& found = json.contains("probabilities") ? json["probabilities"] : json["prediction"];
      values.push_back(found.is_number() ? found.get<double>() : found.begin()->get<double>());
    }
    return values;
  }

  // Returns the same for lines that are cut into calls of these numbers of rows, with a file of the state between them.
  // The first line has the names of the columns.
  std::vector<double> values_in_calls(const TrainedModel& trained, const Words& lines,
                                      const std::vector<size_t>& num_rows) const {
    std::filesystem::remove(name("cut.state"));
    std::vector<double> all;
    auto next = lines.begin() + 1;
    for (const size_t count : num_rows) {
      Words call = {lines.front()};
      for (size_t i = 0; i < count && next != lines.end(); ++i) call.push_back(*next++);
      StreamState state = stream_state_in(name("cut.state"), trained);
      const std::vector<double> some = values(trained, call, state);
      all.insert(all.end(), some.begin(), some.end());
      write_stream_state(name("cut.state"), state, trained);
    }
    return all;
  }

  // Returns the first value of each prediction of a file that is read as a whole.
  std::vector<double> values_of_file(const std::filesystem::path& run, const std::string& file) const {
    const TrainedModel trained = load(run, {"data.path=" + file}, DataPart::kAll);
    const Predictions predictions = predict(trained, load_data(trained, Targets::kIfPresent).samples);
    const at::Tensor first = predictions.values.select(1, 0).contiguous();
    const double* begin = first.const_data_ptr<double>();
    return {begin, begin + first.numel()};
  }

  // A table of one series whose rows have a target each; `at` is the time.
  void write_steps(const std::string& file, int num_rows) const {
    std::string text = "at,a,word,y\n";
    for (int i = 0; i < num_rows; ++i)
      text += fmt::format("2026-01-{:02} {:02}:00,{},{},{:.3f}\n", 1 + i / 24, i % 24,
                          i % 7 == 5 ? "" : fmt::format("{:.3f}", 10 + 3 * std::sin(0.5 * i)), "abc"[i % 3],
                          std::cos(0.5 * i) + i % 3);
    write(file, text);
  }

  std::filesystem::path train_steps(const Words& overrides = {}) {
    write_steps("steps.csv", 200);
    return train(
        "layer: naive\ndata: {source: csv, path: steps.csv, target: [y], target_per: step, task: regression, "
        "features: [a], categories: [word], time: at, calendar: [hour], missing: previous, window: 20}\n"
        "model: {kind: sequence_regressor, hidden_size: 6, embedding_size: 2}\n"
        "training: {epochs: 2, batch_size: 4, learning_rate: 0.02}\n",
        overrides);
  }
};

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance = 1e-4) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

TEST_F(Streams, PredictEachRowAsInOneLongSequence) {
  for (const char* cell : {"lstm", "gru", "rnn_tanh", "slstm", "min_gru"}) {
    SCOPED_TRACE(cell);
    const auto run = train_steps({std::string("model.cell=") + cell, "model.num_layers=2"});
    const TrainedModel trained = load(run);
    write_steps("new.csv", 20);  // as many as a sequence has
    const Words lines = lines_of(testing::read_text(name("new.csv")));
    StreamState state;
    const std::vector<double> whole = values(trained, lines, state);
    expect_near(whole, values_of_file(run, "new.csv"));
    EXPECT_EQ(values_in_calls(trained, lines, {1, 3, 100}), whole) << "not a bit differs";
    EXPECT_EQ(values_in_calls(trained, lines, {19, 1}), whole);
    EXPECT_EQ(state.series.at("").num_steps, 20);
  }
}

// Each of its rows begins a window of 8, which the stream has read when the window ends.
TEST_F(Streams, PredictAfterTheLastRowOfAWindowWhatTheWindowPredicts) {
  for (const Words& overrides : {Words{}, Words{"data.target_as=change"}, Words{"data.horizon=1..3"}}) {
    const auto run = train_series(overrides);
    const TrainedModel trained = load(run);
    const Words all = lines_of(testing::read_text(name("series.csv")));
    const std::vector<double> windows = values_of_file(run, "series.csv");
    for (const size_t first : {size_t{1}, size_t{30}}) {
      Words lines(all.begin() + static_cast<std::ptrdiff_t>(first),
                  all.begin() + static_cast<std::ptrdiff_t>(first) + 8);
      lines.insert(lines.begin(), all.front());
      StreamState state;
      EXPECT_NEAR(values(trained, lines, state).back(), windows[first - 1], 1e-3);
      EXPECT_EQ(values_in_calls(trained, lines, {1, 3, 100}).back(), values(trained, lines, state = {}).back());
    }
  }
}

// Two series of different sizes, each with a constant `kind`.
std::string shops() {
  std::string text = "shop,sales,kind,y\n";
  for (const char* shop : {"north", "south"})
    for (int i = 0; i < 60; ++i)
      text += fmt::format("{0},{1:.3f},{2},{3:.3f}\n", shop, i * (shop[0] == 'n' ? 1.0 : 9.0) + i % 5, shop[0] % 7,
                          std::sin(0.3 * i));
  return text;
}

TEST_F(Streams, KeepAStateForEachSeries) {
  const std::string text = shops();
  write("shops.csv", text);
  const auto run = train(
      "layer: naive\ndata: {source: csv, path: shops.csv, target: [y], target_per: step, task: regression, group: "
      "shop, "
      "features: [sales], valid_fraction: 0.5}\n"
      "model: {kind: sequence_regressor, hidden_size: 6}\ntraining: {epochs: 2, batch_size: 2}\n");
  const TrainedModel trained = load(run);
  const Words lines = lines_of(text);
  Words interleaved = {lines.front()};
  for (size_t i = 0; i < 60; ++i) interleaved.insert(interleaved.end(), {lines[1 + i], lines[61 + i]});
  const std::vector<double> whole = values_of_file(run, "shops.csv");
  StreamState state;
  const std::vector<double> found = values(trained, interleaved, state);
  std::vector<double> in_order;
  for (const size_t shop : {size_t{0}, size_t{1}})
    for (size_t i = 0; i < 60; ++i) in_order.push_back(found.at(2 * i + shop));
  expect_near(in_order, whole);
  EXPECT_EQ(values_in_calls(trained, interleaved, {1, 30, 200}), found);
  EXPECT_EQ(state.series.size(), 2u);
  const Words printed_rows = printed(trained, {lines[0], lines[1], lines[61]}, state = {}, StreamForm::kCsv);
  EXPECT_THAT(printed_rows[0], HasSubstr("row,shop,prediction\n1,north,"));
  EXPECT_THAT(printed_rows[1], ::testing::StartsWith("2,south,"));
}

TEST_F(Streams, ScaleEachSeriesAsTrainingDid) {
  write("shops.csv", shops());
  for (const char* target_as : {"value", "change"}) {
    const auto run = train(
        fmt::format("layer: naive\ndata: {{source: csv, path: shops.csv, target: [sales], window: 8, group: shop, "
                    "features: [sales], static: [kind], scale_by: series, target_as: {}}}\n"
                    "model: {{kind: sequence_regressor, hidden_size: 6}}\ntraining: {{epochs: 2, batch_size: 8}}\n",
                    target_as));
    const TrainedModel trained = load(run);
    const Words lines = lines_of(shops());
    const std::vector<double> windows = values_of_file(run, "shops.csv");
    ASSERT_EQ(windows.size(), 2u * 53);
    for (const size_t series : {size_t{0}, size_t{1}}) {
      Words first_window(lines.begin() + 1 + static_cast<std::ptrdiff_t>(60 * series),
                         lines.begin() + 9 + static_cast<std::ptrdiff_t>(60 * series));
      first_window.insert(first_window.begin(), lines.front());
      StreamState state;
      EXPECT_NEAR(values(trained, first_window, state).back(), windows[53 * series], 1e-3) << target_as << series;
    }
    StreamState state;
    expect_error(ExitCode::kData, [&] { values(trained, {"shop,sales,kind", "north,1,5", "north,2,4"}, state); });
    const TrainedModel filling = load(run, {"data.missing=mean"});
    StreamState filled, given;
    EXPECT_EQ(values(filling, {"shop,sales,kind", "north,1,5", "north,2,"}, filled),
              values(filling, {"shop,sales,kind", "north,1,5", "north,2,5"}, given));
  }
}

TEST_F(Streams, ReadTheNumbersOfArraysWithoutNames) {
  const auto run = train(
      "layer: naive\ndata: {source: synthetic, num_train: 16, num_valid: 4, sequence_length: 7, num_features: 2, "
      "num_classes: 3}\nmodel: {hidden_size: 5}\ntraining: {epochs: 1, batch_size: 4}\n");
  const TrainedModel trained = load(run);
  const Samples samples = load_data(trained, Targets::kIfPresent).samples;
  const at::Tensor whole = predict(trained, samples).values;
  Words lines;
  const at::Tensor inputs = inputs_of(samples, 0, 1).contiguous();
  for (int64_t step = 0; step < 7; ++step)
    lines.push_back(fmt::format("{},{}", inputs[0][step][0].item<float>(), inputs[0][step][1].item<float>()));
  StreamState state;
  EXPECT_NEAR(values(trained, lines, state).back(), whole[0][0].item<double>(), 1e-6);
  expect_error(ExitCode::kData, [&] { values(trained, {"1,2,3"}, state); });
  expect_error(ExitCode::kData, [&] { values(trained, {"1,nan"}, state); });
  expect_error(ExitCode::kData, [&] { values(trained, {"1,1e300"}, state); });
}

TEST_F(Streams, RefuseWhatAStateCannotHold) {
  const auto refusal = [&](const std::filesystem::path& run, const Words& overrides = {}) {
    const TrainedModel trained = load(run, overrides);
    return testing::message_of_error(ExitCode::kUsage, [&] { Stream(trained, {}, StreamForm::kCsv, "rows"); });
  };
  expect_golden(refusal(train_series({"model.bidirectional=true"})));
  expect_golden(refusal(train_series({"model.pooling=mean"})));
  expect_golden(refusal(train_series({"model.pooling=attention"})));
  expect_golden(refusal(train_series({"model.front=[4]"})));
  expect_golden(refusal(train_series({"model.decoder=true", "data.horizon=1..3"})));
  expect_golden(refusal(train_series({"data.target_as=seasonal_change", "data.season=4"})));
  expect_golden(refusal(train_series({"data.scale_by=window"})));
  expect_golden(refusal(train_series({"data.known=[flow]"})));
  expect_golden(refusal(train_series({"data.normalize=column_minmax"})));
  expect_golden(refusal(train_series(), {"data.missing=drop"}));
  expect_golden(refusal(train_series(), {"data.unsorted=sort"}));
  expect_golden(refusal(train_series(), {"data.duplicates=last"}));
  expect_golden(refusal(train_steps(), {"data.gaps=fill"}));
  expect_golden(refusal(train_flowers()));
  expect_golden(refusal(train_text()));
  expect_error(ExitCode::kUsage, [] { require_stream_settings({"data.path=x.csv"}); });
  expect_error(ExitCode::kUsage, [] { require_stream_settings({"data.num_train=3"}); });
  require_stream_settings({"device=cpu", "data.missing=zero"});
}

TEST_F(Streams, CheckTheTimesOfRows) {
  const TrainedModel trained = load(train_steps());
  const std::string names = "at,a,word";
  const auto error = [&](const Words& rows, const Words& overrides = {}) {
    const TrainedModel other = load(trained.checkpoint.parent_path().parent_path(), overrides);
    Words lines = {names};
    lines.insert(lines.end(), rows.begin(), rows.end());
    StreamState state;
    return testing::message_of_error(ExitCode::kData, [&] { values(other, lines, state); });
  };
  const std::string one = "2026-01-01 01:00,1,a", two = "2026-01-01 02:00,1,a", three = "2026-01-01 03:00,1,a",
                    six = "2026-01-01 06:00,1,a";
  expect_golden(error({two, one}));
  expect_golden(error({one, one}));
  expect_golden(error({one, two, three, six}));
  expect_golden(error({one, three}, {"data.frequency=1h"}));
  expect_golden(error({one, "soon,1,a"}));
  StreamState state;
  EXPECT_EQ(values(load(trained.checkpoint, {"data.gaps=ignore", "data.duplicates=ignore", "data.unsorted=ignore"}),
                   {names, two, two, one, six}, state)
                .size(),
            4u);
}

// 2026-01-01 is a Thursday.
TEST_F(Streams, TakeMondayAsTheDayAfterFridayOfADailySeriesWithoutWeekends) {
  const TrainedModel trained = load(train_steps());
  const auto num_read = [&](const Words& days) {
    Words lines = {"at,a,word"};
    for (const std::string& day : days) lines.push_back("2026-01-" + day + ",1,a");
    StreamState state;
    return values(trained, lines, state).size();
  };
  EXPECT_EQ(num_read({"01", "02", "05", "06", "07", "08", "09", "12"}), 8u);
  EXPECT_EQ(num_read({"02", "05", "06", "07"}), 4u);
  expect_error(ExitCode::kData, [&] { num_read({"01", "02", "06"}); });                    // without Monday
  expect_error(ExitCode::kData, [&] { num_read({"03", "04", "05", "06", "09", "12"}); });  // Saturdays have rows
  expect_error(ExitCode::kData, [&] { num_read({"02 21:00", "02 22:00", "02 23:00", "05 00:00"}); });
}

TEST_F(Streams, BeginAgainAfterAGapThatEndsASeries) {
  const TrainedModel trained = load(train_steps(), {"data.gaps=split"});
  const Words lines = {"at,a,word", "2026-01-01 01:00,1,a", "2026-01-01 02:00,2,b", "2026-01-01 09:00,3,c"};
  StreamState state, fresh;
  EXPECT_EQ(values(trained, lines, state).back(), values(trained, {lines[0], lines[3]}, fresh).back());
  Stream stream(trained, {}, StreamForm::kCsv, "rows");
  for (size_t i = 0; i < lines.size(); ++i)
    stream.read_line(lines[i], static_cast<int64_t>(i) + 1, [](std::string_view) {});
  const Words notes = stream.take_notes();
  ASSERT_EQ(notes.size(), 1u);
  expect_golden(notes.front());
}

TEST_F(Streams, FillMissingValuesByTheSeries) {
  const TrainedModel trained = load(train_steps());
  StreamState state, other;
  EXPECT_EQ(values(trained, {"at,a,word", "2026-01-01 01:00,1,a", "2026-01-01 02:00,,b"}, state),
            values(trained, {"at,a,word", "2026-01-01 01:00,1,a", "2026-01-01 02:00,1,b"}, other));
  expect_error(ExitCode::kData, [&] { values(trained, {"at,a,word", "2026-01-01 01:00,,a"}, state = {}); });
  expect_error(ExitCode::kData, [&] {
    values(load(trained.checkpoint, {"data.missing=error"}), {"at,a,word", "2026-01-01 01:00,,a"}, state = {});
  });
}

TEST_F(Streams, WarnOnceOfAValueThatTrainingDidNotHave) {
  const TrainedModel trained = load(train_steps());
  Stream stream(trained, {}, StreamForm::kCsv, "rows");
  const auto ignore = [](std::string_view) {};
  stream.read_line("at,a,word", 1, ignore);
  stream.read_line("2026-01-01 01:00,1,new", 2, ignore);
  EXPECT_THAT(stream.take_notes(), ElementsAre(HasSubstr("'new'")));
  stream.read_line("2026-01-01 02:00,1,new", 3, ignore);
  EXPECT_THAT(stream.take_notes(), IsEmpty());
}

TEST_F(Streams, NameTheLineOfAMistakeAndKeepTheStateBeforeIt) {
  const TrainedModel trained = load(train_series());
  Stream stream(trained, {}, StreamForm::kCsv, "rows");
  int64_t number = 0;
  const auto read = [&](const std::string& line) { stream.read_line(line, ++number, [](std::string_view) {}); };
  for (const char* line : {"level,flow", "1,2", "", "3,4"}) read(line);
  expect_golden(testing::message_of_error(ExitCode::kData, [&] { read("5,six"); }));
  EXPECT_EQ(stream.state().series.at("").num_steps, 2);
  EXPECT_THROW(stream.read_line("5,6", ++number, [](std::string_view) { throw UserError(ExitCode::kDevice, "full"); }),
               UserError);
  EXPECT_EQ(stream.state().series.at("").num_steps, 2) << "a row whose prediction was not printed does not count";
  read("5,\"6");
  expect_error(ExitCode::kData, [&] { stream.end(); });
  read("\"");
  EXPECT_EQ(stream.state().series.at("").num_steps, 3) << "a row may go on in the next line";
}

TEST_F(Streams, RefuseALineThatIsNotOneRow) {
  const TrainedModel trained = load(train_series());
  const auto error = [&](const Words& lines) {
    StreamState state;
    return testing::message_of_error(ExitCode::kData, [&] { values(trained, lines, state); });
  };
  expect_golden(error({"level,flow", "1,2\r3,4", "5,6"}));
  expect_golden(error({"level,flow\r1,2\r3,4"}));
  expect_golden(error({"level,flow", "\r1,2"}));
  StreamState state;
  EXPECT_EQ(values(trained, {"level,flow\r", "1,2\r", "\r", "3,4\r"}, state).size(), 2u) << "lines with CRLF";
}

TEST_F(Streams, RefuseAMisplacedQuoteAtOnce) {
  const TrainedModel trained = load(train_series());
  StreamState state;
  expect_golden(testing::message_of_error(ExitCode::kData, [&] {
    values(trained, {"level,flow", "1,2\"", "3,4"}, state);
  }));
}

// A blank line may be a missing value only between rows of one column.
TEST_F(Streams, TellTheNumberOfColumnsByTheHeaderOrTheFirstRow) {
  const TrainedModel trained = load(train_series());
  StreamState state;
  EXPECT_EQ(values(trained, {"\"level\",\"flow\"", "1,2", "", "3,4"}, state).size(), 2u);
  const auto train_column = [&](const std::string& file, const std::string& row) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += fmt::format(fmt::runtime(row), i % 7);
    write(file, text);
    return load(train(
        fmt::format("layer: naive\ndata: {{source: csv, path: {}, header: false, target: [column1], window: 8}}\n"
                    "model: {{kind: sequence_regressor, hidden_size: 4}}\ntraining: {{epochs: 1, batch_size: 8}}\n",
                    file)));
  };
  EXPECT_EQ(values(train_column("three.csv", "{},1,2\n"), {"", "1,1,2", "", "3,1,2"}, state = {}).size(), 2u);
  const TrainedModel one = train_column("one.csv", "{}\n");
  expect_error(ExitCode::kData, [&] { values(one, {"1", "", "3"}, state = {}); });
}

TEST_F(Streams, KeepStatesInMemoryOfTheirOwn) {
  const auto expect_own = [](const at::Tensor& state) {
    EXPECT_EQ(state.storage().nbytes(), static_cast<size_t>(state.numel()) * state.element_size());
  };
  for (const char* layer : {"naive", "fused", "hoisted"}) {
    SCOPED_TRACE(layer);
    StreamState state, text;
    values(load(train_series({std::string("layer=") + layer, "model.num_layers=2"})), {"level,flow", "1,2"}, state);
    continue_text(load(train_text({std::string("layer=") + layer})), {.prompt = "ab", .length = 3}, text);
    for (const StreamState& one : {state, text}) {
      expect_own(one.series.at("").state.hidden);
      expect_own(one.series.at("").state.cell());
    }
  }
}

TEST_F(Streams, RefuseARowThatNeverEnds) {
  const TrainedModel trained = load(train_series());
  Stream stream(trained, {}, StreamForm::kCsv, "rows");
  expect_error(ExitCode::kData,
               [&] { stream.read_line(std::string(kLongestStreamRow, '1'), 1, [](std::string_view) {}); });
}

class StateFiles : public Streams {
 protected:
  StateFiles() : trained_(load(train_series())) {
    StreamState state;
    values(trained_, {"level,flow", "100,5", "101,6"}, state);
    write_stream_state(name("x.state"), state, trained_);
  }

  TrainedModel trained_;
};

TEST_F(StateFiles, AreRefusedForOtherWeights) {
  const TrainedModel other = load(train_series({"seed=2"}));
  EXPECT_THAT(testing::message_of_error(ExitCode::kCheckpoint, [&] { read_stream_state(name("x.state"), other); }),
              HasSubstr("x.state: is the state of other weights ("));
  EXPECT_EQ(read_stream_state(name("x.state"), trained_).series.at("").num_steps, 2);
}

TEST_F(StateFiles, AreRefusedIfAnyByteIsDamaged) {
  const std::string whole = testing::read_text(name("x.state"));
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write("bad.state", damaged);
    EXPECT_THROW(read_stream_state(name("bad.state"), trained_), UserError) << at;
  }
  for (const size_t size : {size_t{0}, size_t{7}, whole.size() / 2, whole.size() - 1}) {
    write("bad.state", whole.substr(0, size));
    expect_error(ExitCode::kCheckpoint, [&] { read_stream_state(name("bad.state"), trained_); });
  }
  expect_error(ExitCode::kCheckpoint, [&] { read_stream_state(trained_.checkpoint / "model.safetensors", trained_); });
}

// A file can be forged, with digests that are right.
TEST_F(StateFiles, WithOtherColumnsAndTokensAreRefused) {
  StreamState state = read_stream_state(name("x.state"), trained_);
  state.series.at("").past.values.pop_back();
  write_stream_state(name("x.state"), state, trained_);
  expect_error(ExitCode::kCheckpoint,
               [&] { Stream(trained_, read_stream_state(name("x.state"), trained_), StreamForm::kCsv, "rows"); });
  state.tokens = {7};
  write_stream_state(name("x.state"), state, trained_);
  expect_error(ExitCode::kCheckpoint, [&] { read_stream_state(name("x.state"), trained_); });
}

// No rows lead to such numbers, whose sums and differences would overflow.
TEST_F(StateFiles, WithImpossibleNumbersAreRefused) {
  const StreamState good = read_stream_state(name("x.state"), trained_);
  const auto is_refused = [&](const StreamState& state) {
    write_stream_state(name("bad.state"), state, trained_);
    expect_error(ExitCode::kCheckpoint, [&] { read_stream_state(name("bad.state"), trained_); });
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t num_steps : {int64_t{-1}, kMost - 1, kMost}) {
    StreamState state = good;
    state.series.at("").num_steps = num_steps;
    is_refused(state);
  }
  for (const int64_t time : {kMost, -kMost, kMost / 16}) {
    StreamState state = good;
    state.series.at("").past.times = {0, time};
    is_refused(state);
  }
  StreamState sum = good;
  sum.series.at("").num_steps = int64_t{1} << 52;
  write_stream_state(name("long.state"), sum, trained_);
  EXPECT_EQ(read_stream_state(name("long.state"), trained_).series.at("").num_steps, int64_t{1} << 52);
  sum.series["b"] = sum.series["c"] = sum.series.at("");
  is_refused(sum);
  StreamState twice = good;
  twice.series["\xfe"] = twice.series["\xff"] = good.series.at("");  // both are written as a replacement character
  is_refused(twice);
}

TEST_F(StateFiles, OfNothingAreNotWritten) {
  write_stream_state(name("none.state"), {}, trained_);
  EXPECT_FALSE(std::filesystem::exists(name("none.state")));
  EXPECT_THAT(stream_state_in(name("none.state"), trained_).series, IsEmpty());
}

TEST_F(Streams, ContinueATextAsIfItWereOne) {
  for (const char* cell : {"lstm", "gru", "min_gru"}) {
    const TrainedModel trained = load(train_text({std::string("model.cell=") + cell, "layer=naive"}));
    const std::string whole = generate_text(trained, {.prompt = "ab", .length = 30, .temperature = 0});
    StreamState state;
    std::string text;
    for (const int64_t length : {0, 1, 3, 0, 26}) {
      text += continue_text(trained, {.prompt = state.tokens.empty() ? "ab" : "", .length = length, .temperature = 0},
                            state);
      write_stream_state(name("text.state"), state, trained);
      state = read_stream_state(name("text.state"), trained);
    }
    EXPECT_EQ(text, whole) << cell;
    std::filesystem::remove(name("text.state"));
  }
}

}  // namespace
}  // namespace rnnlab
