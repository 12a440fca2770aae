// SPDX-License-Identifier: Apache-2.0
// Fuzzes a .ts file of unknown origin, under every policy for missing values. A valid file is written again: it must
// have the same series.
#include <algorithm>
#include <cmath>

#include "data/readers/ts.h"
#include "fuzz/fuzz_support.h"

namespace rnnlab::testing {
namespace {

std::string header_of(const TsFile& file) {
  std::string text = fmt::format("@dimensions {}\n", file.num_dimensions);
  if (file.target == TsTarget::kNumber) text += "@targetLabel true\n";
  if (file.target == TsTarget::kClass) text += fmt::format("@classLabel true {}\n", fmt::join(file.labels, " "));
  return text + "@data\n";
}

std::string dimension_of(const TsFile& file, const TsSeries& series, int64_t dimension) {
  const auto values = file.values_of(series);
  std::string text;
  for (int64_t step = 0; step < series.num_steps; ++step)
    text +=
        fmt::format("{}{}", step > 0 ? "," : "", values[static_cast<size_t>(step * file.num_dimensions + dimension)]);
  return text;
}

std::string target_of(const TsFile& file, const TsSeries& series) {
  if (file.target == TsTarget::kNumber) return std::isnan(series.target) ? ":?" : fmt::format(":{}", series.target);
  if (file.target == TsTarget::kNone) return "";
  return ":" + (series.label < 0 ? "" : file.labels[static_cast<size_t>(series.label)]);
}

std::string text_of(const TsFile& file) {
  std::string text = header_of(file);
  for (const TsSeries& series : file.series) {
    for (int64_t dimension = 0; dimension < file.num_dimensions; ++dimension)
      text += (dimension > 0 ? ":" : "") + dimension_of(file, series, dimension);
    text += target_of(file, series) + "\n";
  }
  return text;
}

void require_promises(const TsFile& file) {
  require(!file.series.empty() && file.num_dimensions >= 1 && file.fewest_steps() >= 1);
  require(std::ranges::all_of(file.values, [](float value) { return std::isfinite(value); }));
  size_t num_values = 0;
  for (const TsSeries& series : file.series) {
    num_values += file.values_of(series).size();
    require(series.label >= -1 && series.label < std::ssize(file.labels));
    require(series.line >= 1);
  }
  require(num_values == file.values.size());
}

void require_same(const TsFile& a, const TsFile& b) {
  require(a.target == b.target && a.labels == b.labels && a.num_dimensions == b.num_dimensions && a.values == b.values);
  require(std::ranges::equal(a.series, b.series, {}, &TsSeries::num_steps, &TsSeries::num_steps));
  require(std::ranges::equal(a.series, b.series, {}, &TsSeries::label, &TsSeries::label));
}

void read(const std::string& text, MissingPolicy missing) {
  const TsFile file = parse_ts(text, "x.ts", missing);
  require_promises(file);
  require_same(file, parse_ts(text_of(file), "again.ts", missing));
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  const std::string text = testing::text_of(data, size);
  begins_like_ts(text);
  for (const MissingPolicy missing : {MissingPolicy::kError, MissingPolicy::kPrevious, MissingPolicy::kZero})
    testing::expect_read_or_refused(ExitCode::kData, [&] { testing::read(text, missing); });
  return 0;
}
