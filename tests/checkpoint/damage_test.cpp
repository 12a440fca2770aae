// Flips every single bit, and cuts off every file of a checkpoint at every byte.
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/sample_checkpoint.h"
#include "system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

// Whether this ends in a UserError that names the file.
bool is_refused(const fs::path& file, const std::function<void()>& read) {
  try {
    read();
    return false;
  } catch (const UserError& error) {
    return error.exit_code() == ExitCode::kCheckpoint && std::string(error.what()).starts_with(file.string() + ": ");
  }
}

// How many ways to damage the file were tried; those that `read` does not notice fail the test.
int64_t damage(const fs::path& file, const std::function<void()>& read) {
  const std::string whole = read_text(file);
  int64_t num_tried = 0;
  const auto expect_noticed = [&](const std::string& text, const std::string& what, size_t byte) {
    write_text(file, text);
    EXPECT_TRUE(is_refused(file, read)) << file << ", " << what << " byte " << byte;
    ++num_tried;
  };
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    expect_noticed(whole.substr(0, byte), "cut off at", byte);
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = whole;
      text[byte] = static_cast<char>(text[byte] ^ (1 << bit));
      expect_noticed(text, "a bit flipped in", byte);
    }
  }
  expect_noticed(whole + '\0', "one more behind", whole.size());
  write_text(file, whole);
  read();
  return num_tried;
}

class Damage : public ::testing::TestWithParam<const char*> {};

TEST_P(Damage, IsNoticedWhereverItIs) {
  const TemporaryFolder folder;
  const fs::path checkpoint = save_checkpoint(folder.path(), 12, sample_contents(12));
  const fs::path file = checkpoint / GetParam();
  const auto num_bytes = static_cast<int64_t>(fs::file_size(file));
  EXPECT_EQ(damage(file, [&] { verify_checkpoint(checkpoint); }), 9 * num_bytes + 1);
  EXPECT_EQ(damage(file, [&] { load_checkpoint(checkpoint); }), 9 * num_bytes + 1);
  RecordProperty("bits_flipped", static_cast<int>(8 * num_bytes));
}

INSTANTIATE_TEST_SUITE_P(Files, Damage, ::testing::Values(kModelFile, kOptimizerFile, kStateFile, kManifestFile));

TEST(Damage, IsNoticedInTheMarkOfTheBest) {
  const TemporaryFolder folder;
  for (const int64_t step : {12, 13}) save_checkpoint(folder.path(), step, sample_contents(step));
  mark_best_checkpoint(folder.path(), 12);
  EXPECT_GT(damage(folder.path() / "best.json", [&] { best_checkpoint(folder.path()); }), 900);
}

}  // namespace
}  // namespace rnnlab::testing
