// What is to be said about several runs or groups in one line: remarks that are alike but for whom they are about
// become one, with a list of names.
#pragma once

#include <string>
#include <vector>

#include "results/warning.h"

namespace rnnlab {

struct Remark {
  std::string before;     // "batch size: 64 in cpu naive, 128 in "
  std::string who;        // "cpu fused"
  std::string after;      // " (data.batch: 1 and 2)"
  std::string kind = {};  // remarks of one kind are alike though `after` differs, as in a number; "": `after` counts
};

// With the kind of each, in the order of the first of each. "a", "a and b" or "a, b, c and 5 more" takes the place of
// `who`; where `after` differs, the first stands for all and says so.
std::vector<Warning> merged(const std::vector<Remark>& remarks);

}  // namespace rnnlab
