#include "recurrent/cudnn/status.h"

#include <array>

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

ExitCode exit_code_of(cudnnStatus_t status) {
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  const bool is_refusal = category == CUDNN_STATUS_BAD_PARAM || category == CUDNN_STATUS_NOT_SUPPORTED;
  return is_refusal ? ExitCode::kUsage : ExitCode::kDevice;
}

void check_cudnn(cudnnStatus_t status, const char* function) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw_error(ExitCode::kDevice, "{} failed: {}", function, words_of(status));
}

}  // namespace rnnlab
