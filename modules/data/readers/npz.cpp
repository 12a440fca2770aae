// SPDX-License-Identifier: Apache-2.0
#include "data/readers/npz.h"

#include <zip.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr std::string_view kArrayEnding = ".npy";
constexpr std::string_view kFetchAgain = "fetch the file again, or write it again with numpy.savez";
constexpr int64_t kMostZipExpansion = 1032;  // deflate's highest ratio: 258 bytes from two bits

}  // namespace

class NpzArchive::File {
 public:
  // An array of the archive.
  struct Member {
    std::string name;  // without .npy
    uint64_t index = 0;
  };

  explicit File(const std::filesystem::path& file) : path_(file.string()) {
    require_zip();
    int code = 0;
    zip_ = zip_open(path_.c_str(), ZIP_RDONLY, &code);
    if (zip_ == nullptr) fail_to_open(code);
    try {
      members_ = read_members();
    } catch (...) {
      zip_discard(zip_);
      throw;
    }
  }
  ~File() { zip_discard(zip_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  zip_t* zip() const { return zip_; }

  const std::vector<Member>& members() const { return members_; }

  // Returns the array of this name, or the only array if the name is empty.
  Member member(const std::string& name) const {
    const std::vector<Member>& all = members_;
    if (all.empty())
      throw_error(ExitCode::kData, "{}: the archive holds no array (NAME.npy): write arrays into it with numpy.savez",
                  path_);
    if (name.empty() && all.size() == 1) return all[0];
    if (name.empty())
      throw_error(ExitCode::kData, "{}: the archive holds {}: name one of them, such as {}:{}; its arrays are {}",
                  path_, counted(std::ssize(all), "array"), last_name(path_), on_one_line(all[0].name), listed(all));
    require_one(all, name);
    return *std::ranges::find(all, name, &Member::name);
  }

 private:
  // Members that share bytes of the file would make it as large as its author likes, so they are refused.
  std::vector<Member> read_members() const {
    require_bytes_of_their_own();
    std::vector<Member> found;
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip_, 0); ++i) {
      const char* name = zip_get_name(zip_, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      if (name == nullptr) fail(zip_strerror(zip_));
      std::string_view text(name);
      if (!text.ends_with(kArrayEnding)) continue;
      text.remove_suffix(kArrayEnding.size());
      found.push_back({std::string(text), static_cast<uint64_t>(i)});
    }
    return found;
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw_error(ExitCode::kData, "{}: damaged zip archive ({}): {}", path_, on_one_line(reason), kFetchAgain);
  }

  void require_bytes_of_their_own() const {
    const auto on_disk = static_cast<zip_uint64_t>(std::filesystem::file_size(path_));
    zip_uint64_t total = 0;
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip_, 0); ++i) {
      zip_stat_t facts;
      zip_stat_init(&facts);
      const bool is_known =
          zip_stat_index(zip_, static_cast<zip_uint64_t>(i), 0, &facts) == 0 && (facts.valid & ZIP_STAT_COMP_SIZE) != 0;
      if (!is_known) continue;
      total += std::min(facts.comp_size, on_disk + 1);
      if (total > on_disk) fail("its members overlap");
    }
  }

  // Opening the file by open_stream refuses what is not a regular file, and names like this one.
  void require_zip() const {
    std::array<std::byte, 4> bytes{};
    const size_t got = open_stream(path_)->read(bytes);
    const auto start = std::span(bytes).first(got);
    if (begins_like_zip({reinterpret_cast<const char*>(start.data()), start.size()})) return;
    if (got == 0) throw_error(ExitCode::kData, "{}: empty file, expected a zip archive: {}", path_, kFetchAgain);
    throw_error(ExitCode::kData, "{}: byte 0: got {}, expected 50 4b 03 04, the start of a zip archive: {}", path_,
                format_hex(start), "check the path, or rename the file if it is not an .npz file");
  }

  [[noreturn]] void fail_to_open(int code) const {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail(reason);
  }

  void require_one(const std::vector<Member>& all, const std::string& name) const {
    const auto count = std::ranges::count(all, name, &Member::name);
    if (count > 1)
      throw_error(ExitCode::kData, "{}: the archive holds {} arrays named {}: {}", path_, count, in_quotes(name),
                  "write it again with one of them");
    if (count == 1) return;
    std::vector<std::string> names;
    for (const Member& member : all) names.push_back(member.name);
    throw_error(ExitCode::kData, "{}: the archive holds no array named {}{}: name one of {}", path_, in_quotes(name),
                did_you_mean(name, names), listed(all));
  }

  static std::string listed(const std::vector<Member>& all) {
    constexpr size_t kMostNamed = 20;
    std::vector<std::string> names;
    for (const Member& member : std::span(all).first(std::min(all.size(), kMostNamed)))
      names.push_back(in_quotes(member.name));
    const std::string more = all.size() > kMostNamed ? fmt::format(" and {} more", all.size() - kMostNamed) : "";
    return join(names, ", ") + more;
  }

  std::string path_;
  zip_t* zip_ = nullptr;
  std::vector<Member> members_;
};

// The bytes of a member. libzip compares the checksum when the end is read.
class NpzArchive::MemberStream : public ByteStream {
 public:
  MemberStream(std::shared_ptr<const File> archive, const std::string& array) : archive_(std::move(archive)) {
    const File::Member member = archive_->member(array);
    path_ = fmt::format("{}:{}", archive_->path(), on_one_line(member.name));
    open(member.index);
  }
  ~MemberStream() override { zip_fclose(file_); }
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  size_t read(std::span<std::byte> into) override {
    size_t filled = 0;
    while (filled < into.size()) {
      const zip_int64_t got = zip_fread(file_, into.data() + filled, into.size() - filled);
      if (got < 0) fail_at(*this, offset_, fmt::format("damaged data ({}): {}", zip_file_strerror(file_), kFetchAgain));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
      offset_ += got;
    }
    return filled;
  }

  int64_t most_bytes() const override { return most_bytes_; }
  const std::string& path() const override { return path_; }
  bool is_packed() const override { return true; }

 private:
  void open(uint64_t index) {
    zip_stat_t facts;
    zip_stat_init(&facts);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive_->zip(), index, 0, &facts) != 0 || (facts.valid & kNeeded) != kNeeded)
      fail_to_open(zip_strerror(archive_->zip()));
    require_readable(facts);
    most_bytes_ = bound_of(facts);
    file_ = zip_fopen_index(archive_->zip(), index, 0);
    if (file_ == nullptr) fail_to_open(zip_strerror(archive_->zip()));
  }

  [[noreturn]] void fail_to_open(std::string_view reason) const {
    throw_error(ExitCode::kData, "{}: damaged zip archive ({}): {}", path_, reason, kFetchAgain);
  }

  void require_readable(const zip_stat_t& facts) const {
    if ((facts.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && facts.encryption_method != ZIP_EM_NONE)
      throw_error(ExitCode::kData, "{}: the array is encrypted: write the archive without a password", path_);
    if (facts.comp_method == ZIP_CM_STORE || facts.comp_method == ZIP_CM_DEFLATE) return;
    throw_error(ExitCode::kData,
                "{}: the array is compressed by zip method {}, expected 0 (stored) or 8 (deflate): write it with "
                "numpy.savez_compressed",
                path_, facts.comp_method);
  }

  // The archive may claim any size; the packed bytes are at most those of the file.
  int64_t bound_of(const zip_stat_t& facts) const {
    const auto on_disk = static_cast<int64_t>(std::filesystem::file_size(archive_->path()));
    constexpr auto kMost = static_cast<zip_uint64_t>(std::numeric_limits<int64_t>::max());
    const auto packed = std::min(on_disk, static_cast<int64_t>(std::min(facts.comp_size, kMost)));
    const int64_t most = facts.comp_method == ZIP_CM_STORE ? packed : saturating_multiply(packed, kMostZipExpansion);
    return std::min(most, static_cast<int64_t>(std::min(facts.size, kMost)));
  }

  std::shared_ptr<const File> archive_;
  std::string path_;
  zip_file_t* file_ = nullptr;
  int64_t most_bytes_ = 0;
  int64_t offset_ = 0;
};

ArrayPath split_array_path(const std::filesystem::path& path) {
  constexpr std::string_view kEnd = ".npz:";
  const std::string text = path.string();
  const size_t at = text.find(kEnd);
  if (at == std::string::npos) return {path, ""};
  return {text.substr(0, at + kEnd.size() - 1), text.substr(at + kEnd.size())};
}

bool begins_like_zip(std::string_view head) {
  return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");  // the second is an empty archive
}

NpzArchive::NpzArchive(const std::filesystem::path& file) : file_(std::make_shared<const File>(file)) {}

std::vector<std::string> NpzArchive::names() const {
  std::vector<std::string> names;
  for (const File::Member& member : file_->members()) names.push_back(member.name);
  return names;
}

std::unique_ptr<ByteStream> NpzArchive::open(const std::string& name) const {
  return std::make_unique<MemberStream>(file_, name);
}

}  // namespace rnnlab
