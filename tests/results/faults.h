// Makes the n-th system call that writes results fail. The linker sends the module's open, write, fsync and rename here
// (--wrap); unarmed they pass through.
#pragma once

namespace rnnlab::testing {

enum class FaultKind { kError, kShortWrite };

// From now on the `call`-th call (from 1) fails with `error_number`; a short write takes half and lets the next one
// fail.
void arm_fault(int call, int error_number, FaultKind kind = FaultKind::kError);

// Passes everything through again; true when the fault was met.
bool disarm_fault();

}  // namespace rnnlab::testing
