// SPDX-License-Identifier: Apache-2.0
// Names and sources of kernels, as NVRTC takes them: it finds an instance of a template by the name that C++ gives it,
// in a source that includes the template's header and has the cell.
#pragma once

#include <string>
#include <type_traits>

#include "layers/persistent/grid/tiles.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

template <class CellSizes>
constexpr const char* name_of_cell() {
  return std::is_same_v<CellSizes, SlstmSizes> ? "Slstm" : "Equations";
}

template <class Numbers>
constexpr const char* name_of_numbers() {
  if (std::is_same_v<Numbers, Float32>) return "Float32";
  if (std::is_same_v<Numbers, Tf32>) return "Tf32";
  return std::is_same_v<Numbers, Float16> ? "Float16" : "Bfloat16";
}

constexpr const char* name_of(Fit fit) { return fit == Fit::kWhole ? "kWhole" : "kPadded"; }
constexpr const char* name_of(Multiplier multiplier) { return multiplier == Multiplier::kWgmma ? "kWgmma" : "kMma"; }

// Returns the name of a kernel. kernel: the template. The kernels of a forward pass also have its inputs as an
// argument.
std::string instance_of(const std::string& kernel, const std::string& tiles, StepInputs inputs);

// Returns the source of two kernels, that of the pass and the one that packs its weights, without their cell. Their
// names need no namespace in it.
std::string source_including(const char* header);

// Returns the source of the cell that the names of kernels contain.
std::string source_of_cell(const PersistentProgram& program);

}  // namespace rnnlab::kernels::persistent
