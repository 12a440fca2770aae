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

inline void expect_error(ExitCode exit_code, const std::string& message, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error, expected: " << message;
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), message);
    EXPECT_EQ(error.exit_code(), exit_code);
  }
}

inline void expect_error(ExitCode exit_code, const std::function<void()>& action,
                         std::source_location where = std::source_location::current()) {
  try {
    action();
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    expect_golden(error.what(), where);
    EXPECT_EQ(error.exit_code(), exit_code);
  }
}

}  // namespace rnnlab::testing
