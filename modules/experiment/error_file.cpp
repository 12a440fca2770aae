#include "experiment/error_file.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/text.h"
#include "results/files.h"
#include "results/json_fields.h"

namespace rnnlab {

void write_error_file(const std::string& message) noexcept {
  try {
    const char* path = std::getenv("TORCHELASTIC_ERROR_FILE");
    if (path == nullptr || std::string(path).empty() || std::filesystem::exists(path)) return;
    const Json extra = {{"timestamp", std::to_string(std::time(nullptr))}, {"py_callstack", ""}};
    const Json file = {{"message", {{"message", on_one_line(message)}, {"extraInfo", extra}}}};
    write_file_atomically(path, file.dump() + "\n");
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace rnnlab
