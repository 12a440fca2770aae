// SPDX-License-Identifier: Apache-2.0
// Fuzzes an npy file of unknown origin.
#include "data/readers/array.h"
#include "fuzz/array_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rnnlab::testing::OneSecond limit;
  rnnlab::testing::fuzz_array(rnnlab::read_npy, rnnlab::testing::text_of(data, size));
  return 0;
}
