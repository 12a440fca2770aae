// Makes the n-th system call that writes results fail. This program's open, write, fsync and rename stand before those
// of the C library, for the libraries that it uses too; unarmed they pass through.
#pragma once

namespace rnnlab::testing {

enum class FaultKind { kError, kShortWrite };

// From now on the `call`-th call (from 1) fails with `error_number`; a short write takes half and lets the next one
// fail.
void arm_fault(int call, int error_number, FaultKind kind = FaultKind::kError);

// Passes everything through again; true when the fault was met.
bool disarm_fault();

}  // namespace rnnlab::testing
