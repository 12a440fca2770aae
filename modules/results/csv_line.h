// Fields as a line of CSV (RFC 4180, with a plain line end): quoted where a comma, a quote or a line end asks for it.
#pragma once

#include <string>
#include <vector>

namespace rnnlab {

std::string csv_line(const std::vector<std::string>& fields);

}  // namespace rnnlab
