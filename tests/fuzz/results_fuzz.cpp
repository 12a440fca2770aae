// SPDX-License-Identifier: Apache-2.0
// Fuzzes a file of a run folder of unknown origin, as `rnnlab compare` reads it: the first line is its name, the rest
// its content. A valid file is written and read again, and compared with a correct run.
#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "fuzz/memory_file.h"
#include "results/comparison_output.h"
#include "results/epoch_row.h"
#include "results/run_folder.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

RunRecord load_sample_run() {
  const TemporaryFolder folder;
  sample_run("cpu", "naive", 1, {9.0}).write(folder.path());  // warm-up alone: no ratio, which takes long
  return load_run(folder.path());
}

template <class T>
T read_json(const std::string& text, const std::string& file) {
  T record = record_from<T>(parse_json(text, file), file);
  const std::string written = json_text(to_json(record));
  require(json_text(to_json(record_from<T>(parse_json(written, file), file))) == written);
  return record;
}

std::vector<EpochRow> read_rows(const std::string& text, const std::string& file) {
  const auto written = [](const std::vector<EpochRow>& rows) {
    std::string lines = epoch_csv_header();
    for (const EpochRow& row : rows) lines += epoch_csv_line(row);
    return lines;
  };
  std::vector<EpochRow> rows = parse_epochs_csv(text, file);
  require(written(parse_epochs_csv(written(rows), file)) == written(rows));
  for (const EpochRow& row : rows) parse_json(epoch_jsonl_line(row), "epochs.jsonl");
  return rows;
}

void read_into(RunRecord& run, const std::string& name, const std::string& text) {
  static MemoryFile file;
  if (name == kEpochsCsvFile) run.rows = read_rows(text, name);
  if (name == kSummaryFile) run.summary = read_json<Summary>(text, name);
  if (name == kEnvironmentFile) run.environment = read_json<Environment>(text, name);
  if (name == kConfigFile) run.config = config_values(file.holding(text));
}

void compare_with_sample(const RunRecord& run, const RunRecord& sample) {
  const Comparison comparison = compare({sample, run}, {.on_difference = OnDifference::kForce});
  const std::string text = comparison_text(comparison);
  require(without_controls(text) == text);
  comparison_csv(comparison);
  parse_json(comparison_json(comparison), "comparison");
}

void read(const std::string& input) {
  static const RunRecord sample = load_sample_run();
  const size_t end = input.find('\n');
  if (end == std::string::npos) return;
  const std::string name = input.substr(0, end);
  RunRecord run = sample;
  run.folder = "other";
  const auto read_file = [&] { read_into(run, name, input.substr(end + 1)); };
  if (expect_read_or_refused(ExitCode::kData, read_file, name == kConfigFile ? Lines::kSeveral : Lines::kOne))
    compare_with_sample(run, sample);
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rnnlab::testing::OneSecond limit;
  rnnlab::testing::read(rnnlab::testing::text_of(data, size));
  return 0;
}
