// How printers show a field: its value, its meaning and what it takes.
#pragma once

#include <string>
#include <string_view>

#include "config/spec.h"

namespace rnnlab::config {

// Help and titles go into comments and tables: line ends become spaces.
std::string one_line(std::string_view text);

// What the field holds in `object`, as YAML: "3", "[64, 32]", "null".
std::string value_text(const FieldSpec& field, const void* object);

// "passes over the training data [epochs]".
std::string meaning(const Entry& entry);

// "default 3; at least 1".
std::string limits_text(const FieldSpec& field, const void* defaults);

}  // namespace rnnlab::config
