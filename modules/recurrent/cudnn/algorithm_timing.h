// How long cuDNN's algorithms take at a shape on the current GPU: whole passes on random data, in device time.
#pragma once

#include "recurrent/cudnn/algorithm_choice.h"
#include "recurrent/cudnn/rnn_descriptor.h"

namespace rnnlab {

// Of the current GPU.
CudnnPlatform current_platform();

// Measures passes of `shape` on the current stream and waits for them; not while a CUDA graph is captured. The random
// numbers that training draws are left alone. The host's time is left out, for a CUDA graph hides it. Where cuDNN fails
// at what it does not refuse, its UserError kDevice passes through, and so does c10::OutOfMemoryError.
MeasureAlgorithm measure_on_gpu(const RnnShape& shape, const WeightLayout& layout, at::Device device);

}  // namespace rnnlab
