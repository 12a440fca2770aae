// What a field takes, in words, and the judging of one value against it.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "config/schema.h"
#include "config/value.h"

namespace rnnlab::config {

// "an integer, at least 1", "true or false", "lstm or gru", "text".
std::string expected_item(const FieldSpec& field);

// What expected_item leaves to the type: "at least 1", "lstm or gru", "".
std::string constraints(const FieldSpec& field);

// expected_item for the field as a whole: "a list of at least one item, each an integer, at least 1".
std::string expectation(const FieldSpec& field);

// The scalar that `value` spells, or nothing if the field does not take it: bounds and conditions count.
std::optional<Scalar> accept(const FieldSpec& field, const Value& value);

// What a user who wrote `value` probably wants: " (write 1000)", " (did you mean 'lstm'?)", or "".
std::string hint(const FieldSpec& field, const Value& value);

// As YAML: 3, 0.001, true, "text".
std::string scalar_text(const Scalar& scalar);

}  // namespace rnnlab::config
