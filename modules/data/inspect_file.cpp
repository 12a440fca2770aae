#include "data/inspect.h"

#include <array>

#include "base/error.h"
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

// A format that is not read, by the bytes that its files begin with.
struct ForeignFormat {
  std::string_view magic;
  std::string_view what_it_is;
  std::string_view what_to_do;
};

constexpr std::array<ForeignFormat, 7> kForeignFormats = {{
    {"PK\x03\x04", "a zip archive (as .npz and .xlsx are)",
     "unpack it (unzip): rnnlab reads the .npy or CSV files inside"},
    {"\x1f\x8b", "gzip within gzip", "unpack it once (gunzip): rnnlab unpacks one layer itself"},
    {"\xfd"
     "7zXZ",
     "packed by xz", "unpack it (unxz), or pack it by gzip"},
    {"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it (unzstd), or pack it by gzip"},
    {"BZh91AY&SY", "packed by bzip2", "unpack it (bunzip2), or pack it by gzip"},
    {"\x89HDF\r\n", "HDF5", "save its arrays as .npy files"},
    {"PAR1\x15", "Parquet", "save the table as CSV"},
}};

void refuse_foreign(const Path& path, const std::string& head) {
  for (const ForeignFormat& format : kForeignFormats)
    if (head.starts_with(format.magic))
      throw_error(ExitCode::kData, "{}: is {}, which rnnlab does not read; {}", path.string(), format.what_it_is,
                  format.what_to_do);
}

Json describe_content(const Path& path, const std::string& head) {
  refuse_foreign(path, head);
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
