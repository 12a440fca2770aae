// SPDX-License-Identifier: Apache-2.0
// Opens pages in headless Chromium, by check_pages.py. Skipped where there is no Chromium.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "base/system/temporary_folder.h"
#include "runs/bench/sample_report.h"
#include "runs/report/sample_sources.h"
#include "runs/report/writers.h"

namespace rnnlab::report {
namespace {

using ::testing::HasSubstr;
using testing::naive_and_fused;
using ::testing::Not;
using testing::report_of;
using testing::sample_run;
using testing::SampleRun;
using testing::TemporaryFolder;

struct Checked {
  int exit_code = 0;
  std::string output;  // both streams
};

Checked run_command(const std::string& command) {
  std::FILE* stream = ::popen((command + " 2>&1").c_str(), "r");
  Checked checked;
  std::array<char, 4096> piece;
  for (size_t size; (size = std::fread(piece.data(), 1, piece.size(), stream)) > 0;)
    checked.output.append(piece.data(), size);
  const int status = ::pclose(stream);
  checked.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return checked;
}

class PageInBrowser : public ::testing::Test {
 protected:
  void add(const std::string& name, const Report& report) {
    const std::string file = folder_.name(name + ".html");
    testing::write_text(file, html_of(report));
    files_ += " '" + file + "'";
  }
  Checked check(const std::string& options = "") const {
    return run_command(
        fmt::format("python3 '{}/tests/runs/report/check_pages.py' {} {}", RNNLAB_SOURCE_DIR, options, files_));
  }
  static bool is_skipped(const Checked& checked) { return checked.exit_code == 77; }

 private:
  TemporaryFolder folder_;
  std::string files_;
};

constexpr const char* kLongName = "a_setting_whose_name_has_no_blank_and_is_longer_than_a_telephone_is_wide_in_pixels";

SampleRun with_setting(SampleRun run, const std::string& key, const std::string& value) {
  run.config += fmt::format("{}: {}\n", key, value);
  return run;
}

// Three seeds of each of four layers, with every column that a classifier has, on a busy machine.
std::vector<SampleRun> many_runs() {
  std::vector<SampleRun> runs;
  for (const char* layer : {"naive", "fused_pointwise", "pretransposed", "blocked"})
    for (const int64_t seed : {1, 2, 3}) {
      const auto slow = static_cast<double>(seed);
      SampleRun& run = runs.emplace_back(sample_run("cpu", layer, seed, {9 * slow, 2 * slow, 2.5 * slow, 2, 2, 2, 2}));
      run.environment.cpu.busy_fraction = 0.75;
      run.environment.cpu.model = "AMD EPYC 7R13 Processor with a name that nearly does not end at all";
    }
  return runs;
}

// Runs that differ in a setting with a long name and long values, and that `compare` refuses together.
std::vector<SampleRun> runs_with_long_names() {
  std::vector<SampleRun> runs;
  for (const char* layer : {"naive", "fused"})
    for (const char* value : {"one_value_that_goes_on_and_on_and_on", "another_value_that_goes_on_and_on"})
      runs.push_back(with_setting(sample_run("cpu", layer, 1, {9, 2, 2, 2}), kLongName, value));
  return runs;
}

BenchReport bench_of_sizes() {
  BenchReport report = testing::sample_report();
  const std::vector<BenchRow> once = report.rows;
  for (const int64_t hidden_size : {1024, 2048, 4096})
    for (BenchRow row : once) {
      row.key.hidden_size = hidden_size;
      report.rows.push_back(row);
      report.rows.back().key.batch_size = 2 * row.key.batch_size;
    }
  return report;
}

TEST_F(PageInBrowser, HasNothingCutOffOrHiddenAtAnyWidth) {
  add("many", report_of(many_runs()));
  add("long", report_of(runs_with_long_names()));
  add("bench", make_report({.benchmarks = {{"ladder.json", testing::sample_report()},
                                           {std::string(kLongName) + ".json", bench_of_sizes()}}}));
  add("epochs", report_of({sample_run("cpu", "naive", 1, std::vector<double>(100, 2))}));
  const Checked checked = check();
  if (is_skipped(checked)) GTEST_SKIP() << checked.output;
  EXPECT_EQ(checked.output, "\n");
  EXPECT_EQ(checked.exit_code, 0);
}

// The check itself must find what a page hides.
TEST_F(PageInBrowser, FindsWhatIsCutOff) {
  add("wide", {.title = std::string(300, 'x')});
  const Checked fits = check("--widths 400");
  if (is_skipped(fits)) GTEST_SKIP() << fits.output;
  EXPECT_EQ(fits.exit_code, 0) << fits.output;
  TextTable table;
  for (int i = 0; i < 3; ++i) table.add_column(std::string(90, 'x'), Align::kRight);
  std::string page = html_of({.title = "t", .opening = {NamedTable{"a", "A table", table}}});
  page.replace(page.find("class=\"scroll\""), 14, "style=\"overflow: hidden\"");
  const TemporaryFolder folder;
  testing::write_text(folder.name("cut.html"), page);
  const Checked cut = run_command(fmt::format("python3 '{}/tests/runs/report/check_pages.py' --widths 1000 '{}'",
                                              RNNLAB_SOURCE_DIR, folder.name("cut.html")));
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.output, HasSubstr("cut.html at 1000 px: "));
}

TEST_F(PageInBrowser, HasZoomOnlyWhereThereAreManyEpochs) {
  add("few", report_of(naive_and_fused()));
  add("many", report_of({sample_run("cpu", "naive", 1, std::vector<double>(100, 2))}));
  const Checked checked = check(
      "--evaluate \"[...document.querySelectorAll('#rows-epoch-time button')].map((one) => "
      "one.firstChild.textContent)\"");
  if (is_skipped(checked)) GTEST_SKIP() << checked.output;
  const std::vector<std::string> lines = split(checked.output, '\n');
  EXPECT_THAT(lines.at(0), Not(HasSubstr("Zoom")));
  EXPECT_THAT(lines.at(1), HasSubstr("Zoom in"));
}

// The bar of a side, its curves and its entry in the legend.
TEST_F(PageInBrowser, DrawsASideInOneColourInEveryChart) {
  add("two", report_of(naive_and_fused()));
  const Checked checked = check(
      "--evaluate \"['#0072b2', '#c94f00', '#007a5e'].map((color) => ['median-epoch-time', 'ratio', 'epoch-time', "
      "'valid-loss'].map((name) => document.querySelectorAll('#rows-' + name + ' [fill=\\\"' + color + '\\\"], #rows-' "
      "+ "
      "name + ' [stroke=\\\"' + color + '\\\"]').length > 0))\"");
  if (is_skipped(checked)) GTEST_SKIP() << checked.output;
  EXPECT_EQ(checked.output, "[[true,true,true,true],[true,true,true,true],[false,false,false,false]]\n");
}

}  // namespace
}  // namespace rnnlab::report
