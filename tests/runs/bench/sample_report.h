// SPDX-License-Identifier: Apache-2.0
// A small report for tests of code that reads reports.
#pragma once

#include "runs/bench/bench_report.h"

namespace rnnlab::testing {

// Returns a report of naive and fused at H 512 and the shape of Appleyard et al. on "cpu". fused is twice as fast in
// every pass; each has six equal samples; hoisted is refused. naive takes 0.4 s forward, 1 s with the data's
// gradients and 1.2 s in total.
BenchReport sample_report();

// Returns a row that was measured in 6 rounds with these samples.
BenchRow measured_row(LayerKind layer, double forward, double forward_data, double all);

// Returns the row as if `count` processes had measured it with equal results.
BenchRow in_processes(BenchRow row, int64_t count);
BenchReport in_processes(BenchReport report, int64_t count);

}  // namespace rnnlab::testing
