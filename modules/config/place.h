// Where a value stands: a line and column of a file, or an override on the command line.
#pragma once

#include <string>

namespace rnnlab::config {

struct Place {
  std::string source;  // the path as the user wrote it, or "argument 'training.epochs=x'"
  int line = 0;        // from 1; 0 where only the source is known
  int column = 0;      // from 1, in code points
  int argument = 0;    // 1, 2, ... for the first, second, ... override; 0 for a file

  bool operator==(const Place&) const = default;
};

// "mnist.yaml:3:5", "mnist.yaml" or "argument 'training.epochs=x'".
std::string to_string(const Place& place);

}  // namespace rnnlab::config
