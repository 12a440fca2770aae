// SPDX-License-Identifier: Apache-2.0
// Runs every reader on thousands of damaged files: it reads a file or refuses it as data, and never crashes or hangs.
// The damage is the same in every run.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "data/readers/array.h"
#include "data/readers/csv.h"
#include "data/readers/reader_files.h"
#include "data/readers/text_file.h"
#include "data/readers/ts.h"

namespace rnnlab {
namespace {

constexpr int kNumFiles = 4000;

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  // One to four changes: a bit flipped, a byte set, bytes cut off, repeated, taken out or put in.
  std::string apply(std::string content) {
    for (size_t change = 0, count = 1 + below(4); change < count; ++change) change_once(content);
    return content;
  }

 private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  char awkward_byte() {
    constexpr std::string_view kAwkward("\0\x01\x7f\x80\xff\x1f\x8b\"',;\r\n({[-9N", 20);
    return kAwkward[below(kAwkward.size())];
  }

  void change_once(std::string& content) {
    const size_t at = below(content.size());
    const size_t length = below(std::min<size_t>(content.size() - at, 16) + 1);
    switch (below(6)) {
      case 0:
        content.resize(at);
        return;
      case 1:
        content.insert(at, content.substr(at, length));
        return;
      case 2:
        content.erase(at, length);
        return;
      case 3:
        content.insert(at, 1 + below(3), awkward_byte());
        return;
      case 4:
        if (!content.empty()) content[at] = awkward_byte();
        return;
      default:
        if (!content.empty()) content[at] = static_cast<char>(content[at] ^ (1 << below(8)));
    }
  }

  std::mt19937_64 random_;
};

class DamageTest : public ReaderFiles {
 protected:
  // Counts on both outcomes: damage that is never refused, or never survived, tests nothing.
  void expect_read_or_refused(const std::string& content, const std::function<void(const std::filesystem::path&)>& read,
                              const std::string& name = "x") {
    int num_read = 0;
    Damage damage(20240229);
    for (int i = 0; i < kNumFiles; ++i) {
      try {
        read(write(name, damage.apply(content)));
        ++num_read;
      } catch (const UserError& error) {
        ASSERT_EQ(error.exit_code(), ExitCode::kData) << error.what();
        ASSERT_TRUE(std::string_view(error.what()).starts_with(path(name).string() + ":")) << error.what();
      }
    }
    EXPECT_GT(num_read, 0);
    EXPECT_LT(num_read, kNumFiles);
  }
};

std::string small_idx() { return bytes("\0\0\x0b\2\0\0\0\3\0\0\0\2") + "abcdefghijkl"; }

std::string small_npy(std::string_view type, std::string_view order) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': (2, 3), }}\n", type, order);
  return bytes("\x93NUMPY\1\0") + static_cast<char>(header.size()) + '\0' + header + std::string(24, 'x');
}

void expect_whole(const Array& array) {
  ASSERT_GE(array.shape.size(), 1u);
  ASSERT_EQ(checked_num_bytes(array.shape, array.type), static_cast<int64_t>(array.bytes.size()));
  ASSERT_GT(visit_values(array, [](auto values) { return values.size(); }), 0u);
}

TEST_F(DamageTest, Idx) {
  expect_read_or_refused(small_idx(), [](const auto& file) { expect_whole(read_idx(file)); });
}

TEST_F(DamageTest, IdxInGzip) {
  expect_read_or_refused(gzip(small_idx()), [](const auto& file) { expect_whole(read_idx(file)); });
}

TEST_F(DamageTest, Npy) {
  expect_read_or_refused(small_npy("<f4", "False"), [](const auto& file) { expect_whole(read_npy(file)); });
}

TEST_F(DamageTest, NpyInFortranOrder) {
  expect_read_or_refused(small_npy(">i4", "True"), [](const auto& file) { expect_whole(read_npy(file)); });
}

TEST_F(DamageTest, Npz) {
  const std::string archive = zip_of({{.name = "x.npy", .content = small_npy("<f4", "False"), .method = 8}});
  expect_read_or_refused(
      archive, [](const auto& file) { expect_whole(read_npy(file)); }, "x.npz");
}

TEST_F(DamageTest, Csv) {
  const std::string content = "\xEF\xBB\xBFname,\"x\",y\r\n\"a,\"\"b\"\"\",1.5,NA\n\nb,-2e3,\"\n\"\nc\u00e9,3,\n";
  expect_read_or_refused(content, [](const auto& file) {
    const CsvTable table = read_csv(file);
    for (int64_t row = 0; row < table.num_rows(); ++row)
      for (int64_t column = 0; column < table.num_columns(); ++column)
        ASSERT_LE(table.line(row, column) + static_cast<int64_t>(table.cell(row, column).size()), 200);
  });
}

TEST_F(DamageTest, CsvNumbers) {
  const std::string content = "a;b\n1;2\n3.5;\n-4e2;NA\n;\"7\"\n";
  expect_read_or_refused(content, [](const auto& file) {
    const CsvTable table = read_csv(file, {';', CsvHeader::kAbsent});
    for (const std::string& name : table.column_names()) {
      class_column(table, name);
      numeric_column(table, name, MissingPolicy::kDrop);
    }
  });
}

TEST_F(DamageTest, Ts) {
  const std::string content = "# x\n@dimensions 2\n@classLabel true a b\n@data\n1,2.5,?:-3e2,4,5:a\n6:7:b\n8,9:1,2:?\n";
  expect_read_or_refused(content, [](const auto& file) {
    const TsFile read = read_ts(file, MissingPolicy::kZero);
    for (const TsSeries& series : read.series) ASSERT_GE(read.values_of(series).size(), 1u);
  });
}

TEST_F(DamageTest, Text) {
  expect_read_or_refused("na\u00efve caf\u00e9 \u20ac \U0001F600", [](const auto& file) {
    const Text text = read_text(file, TextUnit::kCodePoint);
    for (const int64_t token : text.tokens) ASSERT_LT(token, static_cast<int64_t>(text.vocabulary.size()));
  });
}

}  // namespace
}  // namespace rnnlab
