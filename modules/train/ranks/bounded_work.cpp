// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/bounded_work.h"

#include <atomic>

namespace rnnlab {
namespace {

std::atomic<bool> g_has_abandoned_work = false;

}  // namespace

void note_abandoned_work() { g_has_abandoned_work = true; }
bool has_abandoned_work() { return g_has_abandoned_work; }

}  // namespace rnnlab
