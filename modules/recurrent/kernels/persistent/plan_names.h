// Names of kernels as C++ has them: what NVRTC finds an instance of a template by.
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "recurrent/kernels/persistent/cells.h"
#include "recurrent/kernels/persistent/number_types.h"

namespace rnnlab::kernels::persistent {

template <class CellSizes>
constexpr const char* name_of_cell() {
  if (std::is_same_v<CellSizes, LstmSizes>) return "Lstm";
  return std::is_same_v<CellSizes, GruSizes> ? "Gru" : "Rnn";
}

template <class Numbers>
constexpr const char* name_of_numbers() {
  if (std::is_same_v<Numbers, Float32>) return "Float32";
  if (std::is_same_v<Numbers, Tf32>) return "Tf32";
  return std::is_same_v<Numbers, Float16> ? "Float16" : "Bfloat16";
}

template <class CellSizes>
constexpr const char* header_of_cell() {
  if (std::is_same_v<CellSizes, LstmSizes>) return "cell_lstm.h";
  return std::is_same_v<CellSizes, GruSizes> ? "cell_gru.h" : "cell_rnn.h";
}

// A program of two kernels, whose names then need no namespace.
inline std::string source_including(const char* cell, const char* kernel, const char* packing) {
  std::string source;
  for (const char* header : {cell, kernel, packing})
    source += fmt::format("#include \"recurrent/kernels/persistent/{}\"\n", header);
  return source + "using namespace rnnlab::kernels::persistent;\n";
}

}  // namespace rnnlab::kernels::persistent
