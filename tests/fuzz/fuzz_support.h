// What every fuzz target asks of a reader: it takes the input, or refuses it with one line and the right exit code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rnnlab::testing {

// Always on; the fuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

inline std::string text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

template <class Read>
void expect_read_or_refused(ExitCode exit_code, Read read) {
  try {
    read();
  } catch (const UserError& error) {
    require(error.exit_code() == exit_code);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
}

}  // namespace rnnlab::testing
