// Describes in words which values a field accepts, and checks a value against its field.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "config/schema.h"
#include "config/value.h"

namespace rnnlab::config {

// Returns a text such as "an integer, at least 1", "true or false", "lstm or gru" or "text".
std::string expected_item(const FieldSpec& field);

// Returns expected_item without the type: "at least 1", "lstm or gru", "".
std::string constraints(const FieldSpec& field);

// Returns the text for the field as a whole: "a list of at least one item, each an integer, at least 1".
std::string expectation(const FieldSpec& field);

// Returns the scalar that `value` spells, or nullopt if the field does not accept it (type, bounds and conditions).
std::optional<Scalar> accept(const FieldSpec& field, const Value& value);

// Returns a correction of a wrong `value`: " (write 1000)", " (did you mean 'lstm'?)", or "".
std::string hint(const FieldSpec& field, const Value& value);

// Returns the scalar as YAML: 3, 0.001, true, "text".
std::string scalar_text(const Scalar& scalar);

}  // namespace rnnlab::config
