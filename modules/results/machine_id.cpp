#include "results/machine_id.h"

#include "base/folder.h"
#include "base/sha256.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// The firmware's own id may be read by root alone, and the name must not depend on who asks: it serves where the system
// has none.
std::string unique_id(const std::filesystem::path& root) {
  for (const char* file : {"etc/machine-id", "var/lib/dbus/machine-id", "sys/class/dmi/id/product_uuid"})
    if (const std::string id = first_line(system_text(root / file)); !id.empty() && id != "uninitialized") return id;
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
    hash.update("\n").update(first_line(system_text(root / "sys/class/dmi/id" / file)));
  return hash.hex().substr(0, kDigits);
}

}  // namespace rnnlab
