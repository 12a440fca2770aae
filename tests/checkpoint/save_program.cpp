#include "checkpoint/save_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace rnnlab::testing {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

}  // namespace

int start_saving(const SaveRequest& request) {
  std::vector<std::string> arguments = {RNNLAB_SAVE_CHECKPOINT,
                                        request.folder.string(),
                                        std::to_string(request.first),
                                        std::to_string(request.last),
                                        std::to_string(request.hidden_size),
                                        std::to_string(request.keep)};
  std::vector<std::string> environment = environment_with(request.environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, request.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  pid_t process = 0;
  EXPECT_EQ(::posix_spawn(&process, RNNLAB_SAVE_CHECKPOINT, &actions, nullptr, pointers(arguments).data(),
                          pointers(environment).data()),
            0);
  ::posix_spawn_file_actions_destroy(&actions);
  return process;
}

int finish(int process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  constexpr int kSignalBase = 128;
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace rnnlab::testing
