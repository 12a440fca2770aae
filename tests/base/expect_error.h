// SPDX-License-Identifier: Apache-2.0
// Asserts that an action throws a UserError with this exit code and exactly this message, or that of golden.txt.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <source_location>
#include <string>

#include "base/error.h"
#include "golden.h"

namespace rnnlab::testing {

// Returns the message, or "" if the action throws none, which is a failure.
inline std::string message_of_error(ExitCode exit_code, const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), exit_code);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline void expect_error(ExitCode exit_code, const std::string& message, const std::function<void()>& action) {
  EXPECT_EQ(message_of_error(exit_code, action), message);
}

inline void expect_error(ExitCode exit_code, const std::function<void()>& action,
                         std::source_location where = std::source_location::current()) {
  expect_golden(message_of_error(exit_code, action), where);
}

}  // namespace rnnlab::testing
