// Runs rnnlab_save_checkpoint (save_main.cpp) as a process of its own.
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
  std::map<std::string, std::string> environment = {};  // beyond that of the tests
  std::filesystem::path errors = "/dev/null";           // where stderr goes
};

int start_saving(const SaveRequest& request);  // the process
int finish(int process);                       // its exit code, 128 + the signal that killed it
inline int save_in_process(const SaveRequest& request) { return finish(start_saving(request)); }

}  // namespace rnnlab::testing
