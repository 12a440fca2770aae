// SPDX-License-Identifier: Apache-2.0
// Fuzzes an experiment file of unknown origin.
#include "fuzz/fuzz_support.h"
#include "fuzz/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  config::Findings findings;
  const auto document = config::Document::from_text(testing::text_of(data, size), "x.yaml", findings);
  testing::expect_reads_back_or_findings(document, findings);
  return 0;
}
