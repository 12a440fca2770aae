// SPDX-License-Identifier: Apache-2.0
// Fuzzes a stored benchmark of unknown origin, as `rnnlab bench --against` reads it. A valid benchmark is written and
// read again, and compared with a correct one.
#include "base/system/json_fields.h"
#include "fuzz/memory_file.h"
#include "runs/bench/baseline.h"
#include "runs/bench/bench_report.h"
#include "runs/bench/sample_report.h"

namespace rnnlab::testing {
namespace {

void read(const std::string& text) {
  static MemoryFile file;
  const BenchReport report = read_report(file.holding(text));
  const std::string written = json_text(to_json(report));
  require(json_text(to_json(read_report(file.holding(written)))) == written);
  expect_read_or_refused(
      ExitCode::kUsage,
      [&] { check_comparable(sample_report(), report, "before.json", {.on_difference = OnDifference::kForce}); },
      Lines::kSeveral);
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  testing::expect_read_or_refused(ExitCode::kData, [&] { testing::read(testing::text_of(data, size)); });
  return 0;
}
