// An answer to Ctrl-C at once: while it lives, the first SIGINT or SIGTERM puts a line on stderr, for what is under way
// may take a while to end. What the signal does is left to the StopSignalGuard, which must live around it.
#pragma once

namespace rnnlab {

class StopNotice {
 public:
  // `what` follows "rnnlab: ", such as "stopping after the current step"; a literal, for the handler keeps the pointer.
  explicit StopNotice(const char* what);
  ~StopNotice();
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;
};

}  // namespace rnnlab
