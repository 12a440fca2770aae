// SPDX-License-Identifier: Apache-2.0
// Reads settings from a text, for tests of what they refuse.
#pragma once

#include <string>
#include <vector>

#include "base/config/document.h"

namespace rnnlab {

template <class Settings>
struct Reading {
  Settings settings;
  std::vector<std::string> complaints;
};

template <class Settings>
Reading<Settings> read_settings(const std::string& yaml, const std::string& file) {
  config::Findings findings;
  const auto document = config::Document::from_text(yaml, file, findings);
  Settings settings = config::read(document, Settings::schema(), findings);
  return {std::move(settings), findings.lines()};
}

inline std::string only_one(const std::vector<std::string>& complaints) {
  return complaints.size() == 1 ? complaints.front()
                                : "expected one complaint, got " + std::to_string(complaints.size());
}

}  // namespace rnnlab
