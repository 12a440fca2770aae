// SPDX-License-Identifier: Apache-2.0
// Fuzzes overrides of a file, such as training.epochs=3, of unknown origin: any number of them, with a NUL after each
// except the last, as in /proc/self/cmdline.
#include "base/text.h"
#include "fuzz/fuzz_support.h"
#include "fuzz/settings.h"

namespace rnnlab::testing {
namespace {

constexpr std::string_view kFile =
    "name: trial\n"
    "seed: 3\n"
    "data: {source: csv, train_file: prices.csv, features: [open, close], target: [close], window: 8}\n"
    "model:\n"
    "  kind: sequence_regressor\n"
    "  hidden_size: 32\n"
    "sweep:\n"
    "  layer: [naive, fused]\n"
    "  training: {batch_size: [64]}\n";

config::Document parsed_file() {
  config::Findings findings;
  auto document = config::Document::from_text(kFile, "x.yaml", findings);
  require(findings.empty());
  return document;
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  static const config::Document file = testing::parsed_file();
  config::Findings findings;
  config::Document document = file;
  for (const std::string& argument : split(testing::text_of(data, size), '\0'))
    document.apply_override(argument, findings);
  testing::expect_reads_back_or_findings(document, findings);
  return 0;
}
