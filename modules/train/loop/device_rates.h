// SPDX-License-Identifier: Apache-2.0
// Measures the best rates of a device as they are now: a large matrix product and a large copy. A layer or a training
// step cannot be faster, so its share of these rates says how much could still be gained. Also how long work takes.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <functional>

#include "layers/recurrent_options.h"

namespace rnnlab {

double seconds_since(std::chrono::steady_clock::time_point begin);

// Returns the seconds of `work`, with the device synchronised before and after it.
double synchronised_seconds(c10::Device device, const std::function<void()>& work);

// Returns the floating-point operations a second of a large product of square matrices, in the type of the precision
// and with this process's switches (set_precision). Takes up to three seconds, or as long
// as two products on a slow device. Throws c10::Error
// if the memory is too small: three matrices of 2048 x 2048 on a CPU, and of 8192 x 8192 on a GPU.
double best_product_rate(c10::Device device, Precision precision);

// Returns the bytes a second of a large copy on the device, those read and those written. Throws c10::Error if the
// memory is too small: two tensors of 256 MiB on a CPU, and of 1 GiB on a GPU.
double best_copy_rate(c10::Device device);

}  // namespace rnnlab
