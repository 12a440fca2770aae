// SPDX-License-Identifier: Apache-2.0
#include "layers/kernel_cache/kernel_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/error.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "base/system/files.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

// The format of an entry: this line; a line with the SHA-256 of all bytes after it; then numbers and texts, each number
// on its own line. The numbers are the count of symbols, and the length before each symbol and before the code.
constexpr std::string_view kFormat = "rnnlab kernels 1\n";
constexpr size_t kDigits = 64;
constexpr size_t kMostSymbols = 64;
constexpr int64_t kMostBytesOfEntry = 64 << 20;

std::string digest_of(std::string_view bytes) { return Sha256().update(bytes).hex(); }

void append(std::string& content, std::string_view text) {
  content += fmt::format("{}\n", text.size());
  content += text;
}

std::string content_of(const CompiledKernels& kernels) {
  std::string content = fmt::format("{}\n", kernels.symbols.size());
  for (const std::string& symbol : kernels.symbols) append(content, symbol);
  append(content, kernels.code);
  return content;
}

// Reads content whose digest was verified.
class ContentReader {
 public:
  explicit ContentReader(std::string_view content) : rest_(content) {}

  size_t number() {
    size_t value = 0;
    const char* const end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value).ptr;
    rest_.remove_prefix(std::min(rest_.size(), static_cast<size_t>(end - rest_.data()) + 1));
    return value;
  }

  std::string text() {
    const size_t size = std::min(number(), rest_.size());
    const std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view rest_;
};

std::optional<CompiledKernels> parse_entry(std::string_view entry) {
  const size_t head = kFormat.size() + kDigits + 1;
  if (entry.size() < head || !entry.starts_with(kFormat) || entry[head - 1] != '\n') return std::nullopt;
  const std::string_view content = entry.substr(head);
  if (digest_of(content) != entry.substr(kFormat.size(), kDigits)) return std::nullopt;
  ContentReader reader(content);
  CompiledKernels kernels;
  const size_t num_symbols = reader.number();
  if (num_symbols > kMostSymbols) return std::nullopt;
  kernels.symbols.resize(num_symbols);
  for (std::string& symbol : kernels.symbols) symbol = reader.text();
  kernels.code = reader.text();
  return kernels;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_error(ExitCode::kDevice, "{}: cannot make the folder: {}", folder.string(), error.message());
}

struct CachedFile {
  fs::file_time_type when;
  int64_t bytes;
  fs::path file;
};

// A hidden file is being written by a process (base/system/files.h), or was being written when the process was killed.
bool is_being_written(const fs::path& file, fs::file_time_type when) {
  return file.filename().string().starts_with('.') &&
         fs::file_time_type::clock::now() - when < std::chrono::minutes(10);
}

// Returns the files that may be removed. A file that a different process removes at the same time is left out.
std::vector<CachedFile> files_of(const fs::path& folder) {
  std::vector<CachedFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != end(entry); entry.increment(error)) {
    std::error_code gone;
    const auto bytes = static_cast<int64_t>(entry->file_size(gone));
    if (gone) continue;
    const auto when = entry->last_write_time(gone);
    if (!gone && !is_being_written(entry->path(), when)) files.push_back({when, bytes, entry->path()});
  }
  return files;
}

}  // namespace

std::string key_of(const KernelProgram& program) {
  std::string all;
  for (const std::string_view text : {std::string_view(program.source), std::string_view(program.architecture)})
    append(all, text);
  append(all, kernel_options());
  for (const std::string& name : program.names) append(all, name);
  for (const auto& [name, text] : program.headers) {
    append(all, name);
    append(all, text);
  }
  return digest_of(all);
}

std::optional<CompiledKernels> KernelCache::find(const std::string& key) const try {
  if (!path_exists(file_of(key))) return std::nullopt;
  auto kernels = parse_entry(read_file(file_of(key), kMostBytesOfEntry));
  std::error_code is_read_only;
  if (kernels) fs::last_write_time(file_of(key), fs::file_time_type::clock::now(), is_read_only);
  return kernels;
} catch (const UserError&) {
  return std::nullopt;
}

void KernelCache::add(const std::string& key, const CompiledKernels& kernels) const {
  make_folder(folder_);
  const std::string content = content_of(kernels);
  const std::string head = std::string(kFormat) + digest_of(content) + "\n";
  write_file_atomically(file_of(key), std::array<std::string_view, 2>{head, content});
  remove_oldest();
}

// Files of every name count, because a process that was killed while writing may have left temporary files.
void KernelCache::remove_oldest() const {
  std::vector<CachedFile> files = files_of(folder_);
  int64_t bytes = 0;
  for (const CachedFile& file : files) bytes += file.bytes;
  std::ranges::sort(files, {}, &CachedFile::when);
  for (const CachedFile& file : files) {
    if (bytes <= most_bytes_) return;
    std::error_code is_gone;
    fs::remove(file.file, is_gone);
    bytes -= file.bytes;
  }
}

namespace {

constexpr const char* kFolder = "kernels";

// Returns the folder of kernels that the build compiled; empty if the path of the program is unknown.
std::filesystem::path folder_of_build() {
  const std::filesystem::path program = link_target("/proc/self/exe");
  return program.empty() ? program : program.parent_path() / kFolder;
}

}  // namespace

std::optional<std::string> KernelProvider::unavailable_reason() const {
  return path_exists(built_.folder()) ? std::nullopt : nvrtc_unavailable_reason();
}

CompiledKernels KernelProvider::get(const KernelProgram& program) {
  const std::string key = key_of(program);
  if (!built_.folder().empty())
    if (auto kernels = built_.find(key)) return *std::move(kernels);
  const std::string key_of_compiler = Sha256().update(key + " " + nvrtc_version()).hex();
  if (!cache_.folder().empty())
    if (auto kernels = cache_.find(key_of_compiler)) return *std::move(kernels);
  return compile_and_store(program, key_of_compiler);
}

CompiledKernels KernelProvider::compile_and_store(const KernelProgram& program, const std::string& key) {
  const auto began = std::chrono::steady_clock::now();
  CompiledKernels kernels = compile(program);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  num_compiled_ += static_cast<int>(program.names.size());
  store(key, kernels);
  return kernels;
}

void KernelProvider::store(const std::string& key, const CompiledKernels& kernels) {
  if (is_cache_unusable_) return;
  is_cache_unusable_ = true;
  try {
    if (cache_.folder().empty()) throw_error(ExitCode::kDevice, "neither RNNLAB_CACHE nor HOME names a folder");
    cache_.add(key, kernels);
    is_cache_unusable_ = false;
  } catch (const UserError& error) {
    cache_error_ = error.what();
  }
}

std::vector<std::string> KernelProvider::take_notes() {
  std::vector<std::string> notes;
  if (num_compiled_ > 0)
    notes.push_back(fmt::format("compiled {} kernels for this GPU in {:.1f} s{}", num_compiled_, seconds_,
                                is_cache_unusable_ ? "" : "; kept in " + cache_.folder().string()));
  if (!cache_error_.empty())
    notes.push_back(
        fmt::format("the compiled kernels are not kept, so the next run compiles them again: {}", cache_error_));
  num_compiled_ = 0;
  seconds_ = 0;
  cache_error_.clear();
  return notes;
}

KernelProvider make_kernel_provider() {
  const std::filesystem::path cache = cache_folder();
  return {folder_of_build(), cache.empty() ? cache : cache / kFolder};
}

}  // namespace rnnlab
