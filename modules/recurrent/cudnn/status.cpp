#include "recurrent/cudnn/status.h"

#include <array>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {

std::string words_of(cudnnStatus_t status) {
  std::array<char, 1024> buffer = {};
  cudnnGetLastErrorString(buffer.data(), buffer.size() - 1);
  std::string words(trim(buffer.data()));
  for (char& c : words)
    if (c == '\n') c = ' ';
  const std::string name = cudnnGetErrorString(status);
  return words.empty() ? name : fmt::format("{} ({})", name, words);
}

void check_cudnn(cudnnStatus_t status, const char* function) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw_error(ExitCode::kDevice, "{} failed: {}", function, words_of(status));
}

}  // namespace rnnlab
