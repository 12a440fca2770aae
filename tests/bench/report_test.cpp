#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/sample_report.h"
#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab {
namespace {

using testing::sample_report;
using testing::TemporaryFolder;

TEST(BenchReport, ReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), sample_report());
  const BenchReport read = read_report(folder.name("a.json"));
  write_report(folder.name("b.json"), read);
  EXPECT_EQ(testing::read_text(folder.name("a.json")), testing::read_text(folder.name("b.json")));
  EXPECT_EQ(read.rows.at(0).key, sample_report().rows.at(0).key);
  EXPECT_EQ(read.rows.at(1).measurement->samples.all, sample_report().rows.at(1).measurement->samples.all);
  EXPECT_EQ(read.rows.at(2).reason, "layer: hoisted cannot do this");
  EXPECT_FALSE(read.rows.at(2).measurement);
}

TEST(BenchReport, HoldsItsVersionAndTheEnvironment) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), sample_report());
  const std::string text = testing::read_text(folder.name("a.json"));
  EXPECT_TRUE(text.starts_with("{\n  \"schema_version\": 1,\n  \"environment\": {\n")) << text.substr(0, 200);
}

TEST(BenchReport, OfAnotherVersionIsRefused) {
  const TemporaryFolder folder;
  testing::write_text(folder.name("a.json"), "{\"schema_version\": 99}");
  testing::expect_error(
      ExitCode::kData,
      folder.name("a.json") +
          ": schema_version is '99', expected 1: another version of rnnlab wrote it; use that one, or train again",
      [&] { read_report(folder.name("a.json")); });
}

TEST(BenchReport, ASampleThatIsNoNumberIsNamed) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), sample_report());
  std::string text = testing::read_text(folder.name("a.json"));
  const std::string sample = "\"forward_data\": [\n";
  const size_t at = text.find(sample);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, sample.size(), "\"forward_data\": [\n\"long\",");
  testing::write_text(folder.name("a.json"), text);
  testing::expect_error(
      ExitCode::kData,
      folder.name("a.json") + ": rows.0.measurement.samples.forward_data.0 is '\"long\"', expected a number",
      [&] { read_report(folder.name("a.json")); });
}

TEST(BenchReport, RatesSayWhatTheTimesComeTo) {
  const PartRates rates = sample_report().rows[0].measurement->rates;
  EXPECT_DOUBLE_EQ(rates.forward->microseconds_per_layer_step, 1000);
  EXPECT_DOUBLE_EQ(rates.forward->gflops, 268.435456);
  EXPECT_DOUBLE_EQ(rates.forward->gemm_share, 0.268435456);
  EXPECT_DOUBLE_EQ(rates.total->gflops, 3 * 107.3741824 / 1.2);
  EXPECT_DOUBLE_EQ(rates.forward->bandwidth_share, rates.forward->least_bytes / 0.4 / 1e11);
  EXPECT_DOUBLE_EQ(rates.total->least_bytes,
                   rates.forward->least_bytes + rates.backward_data->least_bytes + rates.backward_weights->least_bytes);
}

}  // namespace
}  // namespace rnnlab
