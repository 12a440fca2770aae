#include "training/cuda_functions.h"

#include <nvtx3/nvToolsExt.h>

#include "recurrent/run_kernels_on_cuda.h"
#include "training/kernels/adam.h"
#include "training/kernels/cross_entropy.h"
#include "training/kernels/norms.h"
#include "training/kernels/step_numbers.h"

namespace rnnlab {
namespace {

void begin_range(const char* name) { nvtxRangePushA(name); }
void end_range() { nvtxRangePop(); }

[[maybe_unused]] const bool kTrainingFunctions =
    begin_profiler_range.define(begin_range) && end_profiler_range.define(end_range) &&
    define_kernels<kernels::AdamUpdate, kernels::CrossEntropy, kernels::Norms, kernels::StepNumbers>();

}  // namespace
}  // namespace rnnlab
