// SPDX-License-Identifier: Apache-2.0
#include "app/served_program.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <mutex>

#include "base/system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

// What a program inherits of this process and may depend on: the environment, the limits and the namespaces, which a
// test that mounts a disk has of its own.
std::vector<std::string> inheritance() {
  std::vector<std::string> all = {read_text("/proc/self/limits")};
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  for (const char* kind : {"mnt", "net", "uts"})
    all.push_back(std::filesystem::read_symlink(std::string("/proc/self/ns/") + kind).string());
  return all;
}

class Server {
 public:
  Server() : inheritance_(inheritance()) {
#ifdef RNNLAB_FORK_SERVER
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
    server_ = ::fork();
    if (server_ == 0) become_server(ends[1]);
    ::close(ends[1]);
    connection_ = ends[0];
#endif
  }

  // Waits, so that this process counts the server's processor time as its children's.
  ~Server() {
    if (connection_ < 0) return;
    ::close(connection_);
    ::waitpid(server_, nullptr, 0);
  }

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::optional<int> start(const std::filesystem::path& folder, const std::vector<std::string>& argv) {
    const std::scoped_lock lock(mutex_);
    std::string request = folder.string() + '\0';
    for (const std::string& word : argv) request += word + '\0';
    if (connection_ < 0 || process_ || request.size() > 65536 || inheritance() != inheritance_) return std::nullopt;
    if (::send(connection_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
    process_ = receive();
    return process_;  // none if the server has ended
  }

  std::optional<int> wait_for(int process) {
    {
      const std::scoped_lock lock(mutex_);
      if (process_ != process) return std::nullopt;
    }
    const int status = receive().value_or(SIGKILL);
    const std::scoped_lock lock(mutex_);
    process_.reset();
    return status;
  }

 private:
#ifdef RNNLAB_FORK_SERVER
  [[noreturn]] static void become_server(int connection) {
    ::fcntl(connection, F_SETFD, 0);
    ::setenv("RNNLAB_FORK_SERVER", std::to_string(connection).c_str(), 1);
    ::setenv("LD_PRELOAD", RNNLAB_FORK_SERVER, 1);
    ::execl(RNNLAB_PROGRAM, RNNLAB_PROGRAM, static_cast<char*>(nullptr));
    ::_exit(127);
  }
#endif

  std::optional<int> receive() const {
    int number = 0;
    if (::recv(connection_, &number, sizeof number, 0) != sizeof number) return std::nullopt;
    return number;
  }

  std::vector<std::string> inheritance_;
  int server_ = -1, connection_ = -1;
  std::optional<int> process_;
  std::mutex mutex_;
};

Server& server() {
  static Server only;
  return only;
}

}  // namespace

std::optional<int> start_served(const std::filesystem::path& folder, const std::vector<std::string>& argv) {
  return server().start(folder, argv);
}

std::optional<int> wait_for_served(int process) { return server().wait_for(process); }

}  // namespace rnnlab::testing
