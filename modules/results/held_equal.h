// Lists each condition of a comparison with its value and states whether all runs share the value, so that a reader can
// check that the comparison is fair.
#pragma once

#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab {

// Holds a condition and its values: a single value if it was held equal, otherwise each value once.
struct HeldCondition {
  std::string what;
  std::vector<std::string> values;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("what", self.what);
    field("values", self.values);
  }
};

struct HeldEqual {
  std::vector<HeldCondition> equal;
  std::vector<HeldCondition> unequal;
  std::vector<std::string> unrecorded;  // not recorded by at least one run

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("equal", self.equal);
    field("unequal", self.unequal);
    field("unrecorded", self.unrecorded);
  }
};

HeldEqual held_equal(const std::vector<RunRecord>& runs);

std::string held_equal_text(const HeldEqual& held);

}  // namespace rnnlab
