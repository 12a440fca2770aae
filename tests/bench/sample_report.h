// A small report for tests of what is made from reports.
#pragma once

#include "bench/report.h"

namespace rnnlab::testing {

// naive and fused at H 512 and the shape of Appleyard et al. on "cpu", fused twice as fast in every program, six equal
// samples of each; hoisted refused. Naive takes 0.4 s forward, 1 s with the data's gradients and 1.2 s in all.
BenchReport sample_report();

// A row measured in 6 rounds with these samples.
BenchRow measured_row(LayerKind layer, double forward, double forward_data, double all);

// The row as if so many processes had measured it, each alike.
BenchRow in_processes(BenchRow row, int64_t count);
BenchReport in_processes(BenchReport report, int64_t count);

}  // namespace rnnlab::testing
