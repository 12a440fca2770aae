// A chart as the JSON that the page's script draws it from. Only for .cpp files: it brings in nlohmann's header.
#pragma once

#include <nlohmann/json.hpp>

#include "report/chart.h"

namespace rnnlab::report {

// What is not finite is null. Texts are readable().
nlohmann::ordered_json chart_json(const Chart& chart);

// As it may stand in a <script> element whatever is in it: no '<' at all.
std::string script_text(const nlohmann::ordered_json& json);

}  // namespace rnnlab::report
