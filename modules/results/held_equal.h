// What was held equal between the runs of a comparison, condition by condition with its value: for who wants to see
// that it is fair.
#pragma once

#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab {

// A condition and what it was: one value where it was held equal, each value once where it was not.
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
  std::vector<std::string> unrecorded;  // by all runs, or by some of them

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
