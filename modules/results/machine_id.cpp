#include "results/machine_id.h"

#include <fstream>

#include "base/sha256.h"

namespace rnnlab {
namespace {

std::string first_line_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The firmware's own id may be read by root alone, and the name must not depend on who asks: it serves where the system
// has none.
std::string unique_id(const std::filesystem::path& root) {
  for (const char* file : {"etc/machine-id", "var/lib/dbus/machine-id", "sys/class/dmi/id/product_uuid"})
    if (const std::string id = first_line_of(root / file); !id.empty() && id != "uninitialized") return id;
  return "";
}

}  // namespace

std::string machine_id(const std::filesystem::path& root) {
  constexpr size_t kDigits = 16;
  const std::string id = unique_id(root);
  if (id.empty()) return "";
  Sha256 hash;
  hash.update("rnnlab machine\n").update(id);
  for (const char* file : {"sys_vendor", "product_name", "board_name"})
    hash.update("\n").update(first_line_of(root / "sys/class/dmi/id" / file));
  return hash.hex().substr(0, kDigits);
}

}  // namespace rnnlab
