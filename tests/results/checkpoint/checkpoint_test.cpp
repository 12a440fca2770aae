// SPDX-License-Identifier: Apache-2.0
#include "results/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "base/error.h"
#include "base/expect_error.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "base/system/small_disk.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/checkpoint/sample_checkpoint.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

TEST(Checkpoint, ReadsBack) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path() / "checkpoints", 123, sample_contents(123));
  EXPECT_EQ(path, folder.path() / "checkpoints" / "step-000123");
  EXPECT_EQ(names_in(folder.path() / "checkpoints"), std::vector<std::string>{"step-000123"});
  EXPECT_EQ(names_in(path),
            (std::vector<std::string>{"manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"}));
  const Checkpoint read = load_checkpoint(path);
  EXPECT_EQ(read.step, 123);
  EXPECT_EQ(read.state, (Json{{"step", 123}}));
  const CheckpointContents written = sample_contents(123);
  for (const TensorView& tensor : written.model)
    EXPECT_TRUE(std::ranges::equal(read.model.find(tensor.spec.name)->bytes, tensor.bytes));
  for (const TensorView& tensor : written.optimizer)
    EXPECT_TRUE(std::ranges::equal(read.optimizer.find(tensor.spec.name)->bytes, tensor.bytes));
  EXPECT_EQ(verify_checkpoint(path).files.at(kStateFile).bytes, 18);
}

TEST(Checkpoint, IsTheSameWhereverItIsSaved) {
  const TemporaryFolder folder;
  const fs::path a = save_checkpoint(folder.path() / "a", 1, sample_contents(1));
  const fs::path b = save_checkpoint(folder.path() / "b", 1, sample_contents(1));
  for (const std::string& name : names_in(a)) EXPECT_EQ(read_text(a / name), read_text(b / name)) << name;
}

TEST(Checkpoint, MayHaveNoOptimizerAndALargeState) {
  const TemporaryFolder folder;
  CheckpointContents contents = sample_contents(1);
  contents.optimizer.clear();
  contents.state["vocabulary"] = std::string(1 << 22, 'f');
  const Checkpoint read = load_checkpoint(save_checkpoint(folder.path(), 1, contents));
  EXPECT_TRUE(read.optimizer.tensors.empty());
  EXPECT_EQ(read.state, contents.state);
}

TEST(SaveCheckpoint, RefusesAStateThatWouldNotReadBack) {
  const TemporaryFolder folder;
  CheckpointContents contents = sample_contents(1);
  contents.state["loss"] = std::nan("");  // JSON has no NaN
  EXPECT_THROW(save_checkpoint(folder.path(), 1, contents), InvariantError);
  contents.state["loss"] = std::string(1 << 26, 'x');
  EXPECT_THROW(save_checkpoint(folder.path(), 1, contents), InvariantError);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(SaveCheckpoint, ReplacesTheSameStep) {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), 1, sample_contents(1));
  CheckpointContents contents = sample_contents(1);
  contents.state["again"] = true;
  EXPECT_EQ(load_checkpoint(save_checkpoint(folder.path(), 1, contents)).state, contents.state);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-000001"});
}

TEST(SaveCheckpoint, RemovesWhatInterruptedSavesLeftAndNothingElse) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  write_text(elsewhere.path() / "precious", "x");
  for (const char* name : {".step-000001.tmp-77/model.safetensors", ".step-000002.old-77/a/b", ".best.json.77.tmp",
                           ".step-000001.tmp-mine/a", "notes.txt", "step-1/a"})
    write_text(folder.path() / name, "x");
  fs::create_symlink(elsewhere.path(), folder.path() / ".step-000003.tmp-77");
  fs::create_symlink(elsewhere.path(), folder.path() / ".step-000002.old-77" / "link");
  save_checkpoint(folder.path(), 1, sample_contents(1));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{".step-000001.tmp-mine", "notes.txt", "step-000001", "step-1"}));
  EXPECT_EQ(read_text(elsewhere.path() / "precious"), "x");
}

TEST(SaveCheckpoint, FollowsNoLinkOutOfTheRun) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  fs::create_symlink(elsewhere.path(), folder.path() / "checkpoints");
  expect_error(ExitCode::kDevice, [&] { save_checkpoint(folder.path() / "checkpoints", 1, sample_contents(1)); });
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
  write_text(folder.path() / "file", "x");
  expect_error(ExitCode::kDevice, [&] { save_checkpoint(folder.path() / "file", 1, sample_contents(1)); });
}

TEST(SaveCheckpoint, SaysThatTheRunIsGone) {
  const TemporaryFolder folder;
  expect_error(ExitCode::kDevice,
               [&] { save_checkpoint(folder.path() / "run" / "checkpoints", 1, sample_contents(1)); });
}

TEST(SaveCheckpoint, WorksInAFolderWithAnyName) {
  const TemporaryFolder folder;
  const fs::path strange = folder.path() / "a b\n\xFF";
  verify_checkpoint(save_checkpoint(strange, 1, sample_contents(1)));
}

TEST(SaveCheckpoint, LeavesTheLastOneWhereTheDiskIsFull) {
  const SmallDisk disk;
  const fs::path first = save_checkpoint(disk.path(), 1, sample_contents(1));
  const std::string file = (disk.path() / temporary_name(2) / kModelFile).string();
  expect_error(ExitCode::kDevice, file + ": cannot write: " + disk.reason(),
               [&] { save_checkpoint(disk.path(), 2, sample_contents(2, 100)); });
  verify_checkpoint(first);
  EXPECT_EQ(names_in(disk.path()), std::vector<std::string>{"step-000001"});
}

// ---- reading ----

class LoadCheckpoint : public ::testing::Test {
 protected:
  void expect_refused() const {
    const std::string message = message_of_error(ExitCode::kCheckpoint, [&] { load_checkpoint(path_); });
    EXPECT_EQ(message_of_error(ExitCode::kCheckpoint, [&] { verify_checkpoint(path_); }), message);
    expect_golden(message);
  }
  // An attacker would also write a manifest that matches.
  void replace(const std::string& name, const std::string& text) const {
    Manifest manifest = verify_checkpoint(path_);
    write_text(path_ / name, text);
    manifest.files[name] = {static_cast<int64_t>(text.size()), Sha256().update(text).hex()};
    write_text(path_ / kManifestFile, manifest_text(manifest));
  }

  TemporaryFolder folder_;
  fs::path path_ = save_checkpoint(folder_.path(), 1, sample_contents(1));
};

TEST_F(LoadCheckpoint, NamesAFileThatIsMissing) {
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile, kManifestFile}) {
    fs::rename(path_ / name, path_ / "away");
    expect_refused();
    fs::rename(path_ / "away", path_ / name);
  }
  verify_checkpoint(path_);
}

TEST_F(LoadCheckpoint, NamesAFileThatChanged) {
  for (const std::string& text : {read_text(path_ / kStateFile) + "\n", std::string("{\n  \"step\": 2\n}\n")}) {
    write_text(path_ / kStateFile, text);
    expect_refused();
  }
}

TEST_F(LoadCheckpoint, DoesNotWaitOnAFifo) {
  fs::remove(path_ / kModelFile);
  ::mkfifo((path_ / kModelFile).c_str(), 0600);
  expect_refused();
}

TEST_F(LoadCheckpoint, NoticesAFolderWithAnothersName) {
  fs::rename(path_, folder_.path() / "step-000002");
  path_ = folder_.path() / "step-000002";
  expect_refused();
  path_ = folder_.path() / "step-000002" / "";
  expect_refused();
  fs::rename(path_, folder_.path() / "kept for later");
  verify_checkpoint(folder_.path() / "kept for later");
}

TEST_F(LoadCheckpoint, NeverReadsFilesThatAManifestInvents) {
  Manifest manifest = verify_checkpoint(path_);
  manifest.files["../../secret"] = {};
  write_text(path_ / kManifestFile, manifest_text(manifest));
  expect_refused();
  manifest.files = {{kModelFile, {}}};
  write_text(path_ / kManifestFile, manifest_text(manifest));
  expect_refused();
}

TEST_F(LoadCheckpoint, RefusesBrokenFilesUnderAManifestThatFits) {
  const auto expect_not_loaded = [&](const std::string& name, const std::string& text) {
    const std::string before = read_text(path_ / name);
    replace(name, text);
    verify_checkpoint(path_);
    expect_error(ExitCode::kCheckpoint, [&] { load_checkpoint(path_); });
    replace(name, before);
  };
  expect_not_loaded(kModelFile, "short");
  expect_not_loaded(kStateFile, std::string(1'000'000, '['));
  expect_not_loaded(kStateFile, "{\"a\": 1, \"a\": 2}");
  expect_not_loaded(kStateFile, std::string((1 << 26) + 1, ' '));
}

}  // namespace
namespace {

TEST(StepFolderName, SortsAsItCounts) {
  EXPECT_EQ(step_folder_name(0), "step-000000");
  EXPECT_EQ(step_folder_name(123), "step-000123");
  EXPECT_EQ(step_folder_name(1234567), "step-1234567");
}

TEST(StepOf, TakesOnlyWhatItMade) {
  for (const int64_t step : {int64_t{0}, int64_t{123}, int64_t{1234567}, INT64_MAX})
    EXPECT_EQ(step_of(step_folder_name(step)), step);
  for (const char* name : {"step-", "step-12", "step-0000123", "step-000123x", "step--00123", "step-+00123",
                           "astep-000123", "step-9223372036854775808", "step-000123 "})
    EXPECT_EQ(step_of(name), std::nullopt) << name;
}

TEST(IsLeftover, TakesOnlyWhatWeMade) {
  EXPECT_TRUE(is_leftover(temporary_name(123)));
  EXPECT_TRUE(is_leftover(removed_name(123)));
  EXPECT_TRUE(is_leftover(".step-000123.tmp-7"));
  EXPECT_TRUE(is_leftover(".best.json.7.tmp"));
  for (const char* name : {"step-000123", "step-000123.tmp-7", ".step-000123.tmp-", ".step-000123.tmp-x",
                           ".step-12.tmp-7", ".step-000123.new-7", ".step-000123", ".tmp-7", ".best.json..tmp",
                           ".best.json.x.tmp", ".best.json.tmp", "best.json", ".", "..", ""})
    EXPECT_FALSE(is_leftover(name)) << name;
}

}  // namespace
namespace {

const Manifest kManifest = {.step = 7,
                            .files = {{"a", {.bytes = 3, .sha256 = "ab"}}, {"b", {.bytes = 0, .sha256 = ""}}}};

constexpr const char* kBeforeSeal = R"({
  "schema_version": 3,
  "step": 7,
  "files": {
    "a": {
      "bytes": 3,
      "sha256": "ab"
    },
    "b": {
      "bytes": 0,
      "sha256": ""
    }
  },
)";

TEST(Manifest, IsWrittenLikeThis) {
  const std::string seal = Sha256().update(std::string_view(kBeforeSeal)).hex();
  EXPECT_EQ(manifest_text(kManifest), kBeforeSeal + ("  \"seal\": \"" + seal + "\"\n}\n"));
}

TEST(Manifest, ReadsBack) { EXPECT_EQ(parse_manifest(manifest_text(kManifest), "m"), kManifest); }

void expect_refused(const std::string& text) {
  expect_error(ExitCode::kCheckpoint, [&] { parse_manifest(text, "m"); });
}

TEST(Manifest, IsSealed) {
  const std::string text = manifest_text(kManifest);
  std::string other = text;
  other[other.find('7')] = '8';
  std::set<std::string> messages;
  for (const std::string& broken :
       {std::string(), std::string("{}"), text.substr(0, text.size() - 1), text.substr(1), text + "\n", other})
    messages.insert(message_of_error(ExitCode::kCheckpoint, [&] { parse_manifest(broken, "m"); }));
  expect_golden(messages);
}

// Fuzzing found this case: the JSON parser takes the zero for the end, and the text before it is not an object.
TEST(Manifest, RefusesANumberAndAZeroBeforeItsSeal) {
  const std::string before("2\0", 2);
  expect_refused(before + "  \"seal\": \"" + Sha256().update(before).hex() + "\"\n}\n");
}

TEST(Manifest, IsReadStrictlyWhoeverSealedIt) {
  using Json = nlohmann::ordered_json;
  for (const Json& manifest :
       {Json{{"step", 1}}, Json{{"schema_version", 9}}, Json{{"schema_version", 1}, {"step", "x"}},
        Json{{"schema_version", 1}, {"step", 1}, {"files", {{"a", {{"bytes", 1}}}}}},
        Json{{"schema_version", 1}, {"step", 1}, {"files", Json::object()}, {"more", 1}}})
    expect_refused(sealed_text(manifest));
}

// The tests named Damage flip every single bit, and cut off every file of a checkpoint at every byte.

// Returns whether `read` throws a UserError that names the file.
bool is_refused(const fs::path& file, const std::function<void()>& read) {
  try {
    read();
    return false;
  } catch (const UserError& error) {
    return error.exit_code() == ExitCode::kCheckpoint && std::string(error.what()).starts_with(file.string() + ": ");
  }
}

// Returns the number of ways in which the file was damaged; the test fails if `read` does not detect one.
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
