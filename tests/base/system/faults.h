// SPDX-License-Identifier: Apache-2.0
// Makes the n-th system call that writes results fail. This program's open, write, fsync and rename replace those of
// the C library, also for the libraries of the program. Without an armed fault they call the originals.
#pragma once

namespace rnnlab::testing {

enum class FaultKind { kError, kShortWrite };

// From now on the `call`-th call (from 1) fails with `error_number`. A short write writes half of the bytes, and the
// next call fails.
void arm_fault(int call, int error_number, FaultKind kind = FaultKind::kError);

// Disarms the fault and returns whether it occurred.
bool disarm_fault();

}  // namespace rnnlab::testing
