// The program gnuplot, as far as figures need it.
#pragma once

#include <string>

namespace rnnlab::report {

// UserError kDevice, saying how to get it, where gnuplot does not run here or lacks a terminal that figures need.
void check_gnuplot();

struct GnuplotResult {
  bool is_drawn = false;
  std::string picture;  // what it wrote to standard output
  std::string reason;   // why it drew nothing, in a line: "y_min should not equal y_max!"
};

// Has it run `script`. UserError kDevice where it cannot be started, is ended by a signal, or nothing can be written
// for it.
GnuplotResult run_gnuplot(const std::string& script);

}  // namespace rnnlab::report
