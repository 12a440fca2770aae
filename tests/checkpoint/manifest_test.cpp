#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "checkpoint/sealed_json.h"
#include "results/expect_error.h"

namespace rnnlab::testing {
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

void expect_refused(const std::string& text, const std::string& message) {
  expect_error(ExitCode::kCheckpoint, "m" + message, [&] { parse_manifest(text, "m"); });
}

TEST(Manifest, IsSealed) {
  const std::string broken =
      ": its seal, the SHA-256 in its last line, does not fit; the file is damaged or was cut off";
  const std::string text = manifest_text(kManifest);
  expect_refused("", broken);
  expect_refused("{}", broken);
  expect_refused(text.substr(0, text.size() - 1), broken);
  expect_refused(text.substr(1), broken);
  expect_refused(text + "\n", broken);
  std::string other = text;
  other[other.find('7')] = '8';
  expect_refused(other, broken);
}

// Found by fuzzing: the JSON parser took the zero for the end, and what it had read was no object.
TEST(Manifest, RefusesANumberAndAZeroBeforeItsSeal) {
  const std::string before("2\0", 2);
  const std::string seal = Sha256().update(before).hex();
  expect_refused(before + "  \"seal\": \"" + seal + "\"\n}\n",
                 ":1:2: not valid JSON: the file is damaged or was cut off");
}

TEST(Manifest, IsReadStrictlyWhoeverSealedIt) {
  using Json = nlohmann::ordered_json;
  expect_refused(sealed_text(Json{{"step", 1}}), ": schema_version is missing");
  expect_refused(
      sealed_text(Json{{"schema_version", 9}}),
      ": schema_version is '9', expected 1 to 3: another version of rnnlab wrote it; use that one, or train again");
  expect_refused(sealed_text(Json{{"schema_version", 1}, {"step", "x"}}), ": step is '\"x\"', expected a whole number");
  expect_refused(sealed_text(Json{{"schema_version", 1}, {"step", 1}, {"files", {{"a", {{"bytes", 1}}}}}}),
                 ": files.a.sha256 is missing");
  expect_refused(sealed_text(Json{{"schema_version", 1}, {"step", 1}, {"files", Json::object()}, {"more", 1}}),
                 ": unknown key 'more'");
}

}  // namespace
}  // namespace rnnlab::testing
