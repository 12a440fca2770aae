// Everything that is wrong with a configuration, collected so that the user sees all of it in one go.
// A finding is added once, however often it is met; they come out sorted by place, those of the file before those of
// the arguments.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "config/place.h"

namespace rnnlab::config {

class Findings {
 public:
  void add(const Place& place, const std::string& message);
  bool empty() const { return findings_.empty(); }

  // "mnist.yaml:7:15: training.epochs: got 'ten', expected an integer, at least 1"
  std::vector<std::string> lines() const;

  // UserError with ExitCode::kUsage, one line a finding, of a very large number only the first.
  void throw_if_any() const;

 private:
  struct Finding {
    Place place;
    std::string message;
    bool operator<(const Finding& other) const;
  };
  std::set<Finding> findings_;
};

}  // namespace rnnlab::config
