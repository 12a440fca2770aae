// The program gnuplot, as far as figures need it.
#pragma once

#include <string>

namespace rnnlab::report {

// UserError kDevice, saying how to get it, where gnuplot does not run here.
void check_gnuplot();

// Has it run `script`. UserError kDevice with its own words where it fails; `purpose` names what it was to draw.
void run_gnuplot(const std::string& script, const std::string& purpose);

}  // namespace rnnlab::report
