// Runs rnnlab_save_checkpoint (save_main.cpp) as a separate process.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace rnnlab::testing {

struct SaveRequest {
  std::filesystem::path folder;
  int first = 1;
  int last = 1;
  int hidden_size = 2;
  int keep = 2;
  std::map<std::string, std::string> environment = {};  // in addition to the tests' environment
  std::filesystem::path errors = "/dev/null";           // the file of stderr
};

int start_saving(const SaveRequest& request);  // returns the process
int finish(int process);                       // returns its exit code, or 128 + the signal that killed it
inline int save_in_process(const SaveRequest& request) { return finish(start_saving(request)); }

}  // namespace rnnlab::testing
