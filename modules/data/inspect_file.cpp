#include "data/inspect.h"
#include "data/inspect_formats.h"
#include "data/readers/gzip.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

std::string head_of(const Path& path) {
  std::string head(kHeadBytes, '\0');
  head.resize(open_stream(path)->read(std::as_writable_bytes(std::span(head))));
  return head;
}

Json describe_content(const Path& path, const std::string& head) {
  if (head.starts_with("\x93NUMPY")) return describe_array("npy", path);
  if (head.starts_with(std::string_view("\0\0", 2))) return describe_array("idx", path);
  if (auto table = describe_if_table(path, head)) return std::move(*table);
  return describe_text(path, head);
}

}  // namespace

std::string yaml_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json inspect_file(const Path& path) {
  Json json;
  json["file"] = path.string();
  json.update(describe_content(path, head_of(path)));
  return json;
}

}  // namespace rnnlab
