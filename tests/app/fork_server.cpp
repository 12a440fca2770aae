// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that makes the program a fork server: it is loaded once, with its static objects, and then
// runs its main in a fork of itself for each command line that it is sent. Loading is most of the time of a short
// command. The test's end of the connection is tests/app/served_program.cpp.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

void redirect(const char* file, int descriptor) {
  const int opened = ::open(file, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ::dup2(opened, descriptor);
  ::close(opened);
}

// A request is the folder to work in and then the words of the command line, each with a null byte at its end.
[[noreturn]] void run_main(std::string& request) {
  std::vector<char*> words;
  for (size_t begin = 0; begin < request.size(); begin = request.find('\0', begin) + 1)
    words.push_back(request.data() + begin);
  words.push_back(nullptr);
  if (::chdir(words[0]) != 0) ::_exit(126);
  redirect("stdout.txt", STDOUT_FILENO);
  redirect("stderr.txt", STDERR_FILENO);
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_DFL);
  std::exit(program_main(static_cast<int>(words.size()) - 2, words.data() + 1, environ));
}

// Answers each request with the process and then with its status, until the test closes its end.
[[noreturn]] void serve(int connection) {
  std::string request(65536, '\0');
  for (ssize_t size; (size = ::recv(connection, request.data(), request.size(), 0)) > 0;) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::close(connection);
      request.resize(static_cast<size_t>(size));
      run_main(request);
    }
    int status = 0;
    ::send(connection, &process, sizeof process, MSG_NOSIGNAL);
    ::waitpid(process, &status, 0);
    ::send(connection, &status, sizeof status, MSG_NOSIGNAL);
  }
  ::_exit(0);
}

int serve_instead(int, char**, char**) {
  const char* const descriptor = std::getenv("RNNLAB_FORK_SERVER");
  if (descriptor == nullptr) ::_exit(127);
  const int connection = std::atoi(descriptor);
  for (const char* name : {"RNNLAB_FORK_SERVER", "LD_PRELOAD"}) ::unsetenv(name);
  serve(connection);
}

}  // namespace

// The C library calls this function with the program's main.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*dynamic_fini)(), void* stack_end) {
  program_main = main;
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(serve_instead, argc, argv, init, fini, dynamic_fini, stack_end);
}
