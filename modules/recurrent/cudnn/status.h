// cuDNN's answers as errors of ours: which of its functions refused what, in its own words.
#pragma once

#include <cudnn.h>

#include <string>

#include "base/error.h"

namespace rnnlab {

// "CUDNN_STATUS_NOT_SUPPORTED (what cuDNN last said on this thread)".
std::string words_of(cudnnStatus_t status);

// kUsage where cuDNN does not do what it was asked for (bad parameter, not supported), kDevice where it failed at it.
ExitCode exit_code_of(cudnnStatus_t status);

// UserError kDevice naming `function` unless it succeeded. For calls that do not depend on what the user asked for.
void check_cudnn(cudnnStatus_t status, const char* function);

}  // namespace rnnlab
