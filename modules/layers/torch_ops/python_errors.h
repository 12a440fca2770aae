// SPDX-License-Identifier: Apache-2.0
// Turns the errors of rnnlab into those that PyTorch turns into Python's.
#pragma once

#include <c10/util/Exception.h>

#include <optional>
#include <string_view>

#include "base/config/enum_names.h"
#include "base/error.h"
#include "base/text.h"

namespace rnnlab::operators {

// A user's mistake becomes ValueError in Python.
template <class Work>
auto with_python_errors(const Work& work) {
  try {
    return work();
  } catch (const UserError& error) {
    TORCH_CHECK_VALUE(false, "rnnlab: ", error.what());
  } catch (const InvariantError& error) {
    TORCH_CHECK(false, "rnnlab: ", error.what());
  }
}

template <class Enum>
Enum value_of(std::string_view name, const char* what) {
  if (const std::optional<Enum> value = config::from_name<Enum>(name)) return *value;
  throw_error(ExitCode::kUsage, "{} is \"{}\"; use {}", what, name, join_with_or(config::names_of<Enum>()));
}

}  // namespace rnnlab::operators
