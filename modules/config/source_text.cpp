#include "config/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "config/yaml_reader.h"

namespace rnnlab::config {

namespace {

namespace fs = std::filesystem;

// " (did you mean 'experiments/mnist.yaml'?)" or "".
std::string similar_file(const fs::path& path) {
  const std::string meant = nearest(path.filename().string(), names_beside(path));
  return meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", (path.parent_path() / meant).string());
}

std::string complaint_about_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return "no such file" + similar_file(path);
  if (error) return error.message();
  if (fs::is_directory(status)) return "a folder, expected a YAML file";
  if (!fs::is_regular_file(status)) return "a pipe or device, expected a regular YAML file";
  const uintmax_t size = fs::file_size(path, error);
  if (error) return error.message();
  if (size > kMaxFileBytes)
    return fmt::format("{}, expected at most {}; is this a configuration file?",
                       counted(static_cast<int64_t>(size), "byte"), format_count(kMaxFileBytes));
  return "";
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

// yaml-cpp takes a lone CR for nothing at all, and glues the lines together.
std::optional<size_t> first_control(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_lone_return = text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    if (is_control(text[i]) || is_lone_return) return i;
  }
  return std::nullopt;
}

bool looks_like_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         (text.size() > 1 && (text[0] == 0 || text[1] == 0));
}

}  // namespace

std::optional<std::string> read_source(const std::string& path, Findings& findings) {
  std::string complaint = complaint_about_file(path);
  if (complaint.empty()) {
    std::ifstream stream(path, std::ios::binary);
    std::string text;
    for (std::array<char, 8192> piece; stream && text.size() <= kMaxFileBytes;) {
      stream.read(piece.data(), piece.size());
      text.append(piece.data(), static_cast<size_t>(stream.gcount()));
    }
    if (stream.eof() && text.size() <= kMaxFileBytes) return text;
    complaint = fmt::format("cannot be read ({})", std::strerror(errno));
  }
  findings.add({.source = path}, complaint);
  return std::nullopt;
}

LineMap::LineMap(std::string_view text, std::string source) : source_(std::move(source)), line_starts_{0} {
  code_points_before_.reserve(text.size() + 1);
  uint32_t num_code_points = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    code_points_before_.push_back(num_code_points);
    if (!is_continuation(text[i])) ++num_code_points;
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
  code_points_before_.push_back(num_code_points);
}

Place LineMap::place_at(size_t offset) const {
  const size_t at = std::min(offset, code_points_before_.size() - 1);
  const auto next_line = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
  const size_t line_start = *(next_line - 1);
  const uint32_t column = code_points_before_[at] - code_points_before_[line_start];
  return {source_, static_cast<int>(next_line - line_starts_.begin()), static_cast<int>(column) + 1};
}

Place LineMap::place(int line, int column) const {
  if (line < 0 || column < 0) return {.source = source_};
  const size_t row = std::min(static_cast<size_t>(line), line_starts_.size() - 1);
  return place_at(line_starts_[row] + static_cast<size_t>(column));
}

bool is_clean_text(std::string_view text, const LineMap& lines, Findings& findings) {
  const std::optional<size_t> invalid = first_invalid_utf8(text);
  const std::optional<size_t> control = first_control(text);
  if (!invalid && !control) return true;
  if (looks_like_utf16(text)) {
    findings.add(lines.place(-1, -1), "this looks like UTF-16; save it as UTF-8");
    return false;
  }
  if (invalid)
    findings.add(lines.place_at(*invalid), fmt::format("byte 0x{:02x} at offset {} is not valid UTF-8",
                                                       static_cast<unsigned char>(text[*invalid]), *invalid));
  if (control)
    findings.add(lines.place_at(*control), fmt::format("control character 0x{:02x} at offset {}; expected plain text",
                                                       static_cast<unsigned char>(text[*control]), *control));
  return false;
}

}  // namespace rnnlab::config
