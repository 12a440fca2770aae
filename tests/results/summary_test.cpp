// SPDX-License-Identifier: Apache-2.0
#include "results/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/expect_error.h"
#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

constexpr const char* kText = R"({
  "schema_version": 3,
  "name": "rows",
  "device": "cpu",
  "layer": "fused",
  "precision": "fp32",
  "seed": 3,
  "epochs": 3,
  "stop_reason": "all epochs done",
  "final_metrics": {
    "train_accuracy": 0.75,
    "train_loss": 0.5,
    "valid_accuracy": 0.875,
    "valid_loss": 0.25
  },
  "epoch_time": {
    "num_epochs": 2,
    "median_seconds": 2.5,
    "low_seconds": 2.0,
    "high_seconds": 3.0
  },
  "fit_seconds": 14.375,
  "total_seconds": 14.375,
  "path": "oneDNN reference",
  "path_notes": [],
  "warnings": [],
  "identity": {
    "data_fingerprint": "d1",
    "batch_size": 128,
    "model_hash": "m1",
    "initial_weights_sha256": "w3",
    "order_sha256": "o3",
    "training_hash": "t1",
    "placement": "device",
    "precision": "fp32",
    "build_type": "Release",
    "cpu_model": "Some CPU",
    "num_threads": 2,
    "gpu_model": "Some GPU",
    "conditions": {
      "machine_id": "",
      "cpu_flags": "",
      "usable_cpus": 0,
      "cpu_quota": "",
      "memory_bytes": 0,
      "instruction_sets": {
        "aten": "",
        "onednn": "",
        "mkl": ""
      },
      "variables": null,
      "driver": "",
      "kernel": "",
      "libtorch": "",
      "compiler": "",
      "sources": "",
      "program_id": "",
      "cpu_frequency": "",
      "gpu_power_limit": "",
      "huge_pages": "",
      "nice": null
    }
  },
  "ending": "complete",
  "turn": {
    "process": "a1b2",
    "measurement": "",
    "round": 0,
    "position": 0,
    "case_number": 2
  },
  "rows_sha256": "053ecd3396dab3ad20fb818d9a66d5d88badeb0d0ccaf36dbac389867b5b6b08",
  "settings_sha256": "9fcb97e9d91107b57119d83858ddc14fabf50b154b5f27eb9764cf2285edf394",
  "environment_sha256": "",
  "was_resumed": false
}
)";

// Version 2 wrote the ending only in words, warnings without codes, and no processes or conditions.
std::string text_of_version_2(const std::string& stop_reason, const std::string& warning) {
  auto json = nlohmann::ordered_json::parse(kText);
  json["schema_version"] = 2;
  json["stop_reason"] = stop_reason;
  json["warnings"] = {warning};
  for (const char* key : {"ending", "turn", "rows_sha256", "settings_sha256", "environment_sha256", "was_resumed"})
    json.erase(key);
  json["identity"].erase("conditions");
  return json.dump();
}

TEST(Summary, IsWrittenLikeThis) {
  const TemporaryFolder folder;
  SampleRun run = sample_run("cpu", "fused", 3, {9, 2, 3});
  run.summary.turn.process = "a1b2";
  run.summary.identity.model_hash = "m1";
  run.summary.identity.training_hash = "t1";
  run.summary.turn.case_number = 2;
  run.write(folder.path());
  auto expected = nlohmann::ordered_json::parse(kText);
  expected["environment_sha256"] = environment_sha256(run.environment);
  EXPECT_EQ(read_text(folder.path() / "summary.json"), sealed_text(expected));
}

// run_record.h reports the broken seal.
TEST(Summary, ReadsBackWhateverItsSeal) {
  const TemporaryFolder folder;
  write_text(folder.path() / "summary.json", kText);
  EXPECT_EQ(read_summary(folder.path()).layer, "fused") << "none";
  std::string text = sealed_text(nlohmann::ordered_json::parse(kText));
  text.replace(text.find("fused"), 5, "naive");
  write_text(folder.path() / "summary.json", text);
  EXPECT_EQ(read_summary(folder.path()).layer, "naive") << "broken";
}

TEST(Summary, ReadsBack) {
  const TemporaryFolder folder;
  Summary summary = sample_run("cuda:0", "naive", 1, {}).summary;
  summary.final_metrics = {{"train_loss", std::numeric_limits<double>::infinity()}, {"valid_loss", 1.0 / 3}};
  summary.path_notes = {"cuDNN: \"hidden size\" is odd\n"};
  summary.warnings = {{warning::kOther, "bytes that are no UTF-8: \xff"}};
  summary.total_seconds = std::nan("");
  write_summary(folder.path(), summary);
  const Summary read = read_summary(folder.path());
  EXPECT_EQ(read.final_metrics, summary.final_metrics);
  EXPECT_EQ(read.path_notes, summary.path_notes);
  EXPECT_EQ(read.warnings.at(0).kind, warning::kOther);
  EXPECT_TRUE(std::isnan(read.total_seconds));
  EXPECT_FALSE(read.epoch_time.has_value());
  EXPECT_EQ(read.identity.initial_weights_sha256, "w1");
}

TEST(Summary, IsReadStrictly) {
  std::string many_notes = "\"path_notes\": [\"n\"", many_keys = "\"seed\": 3";
  for (int i = 0; i < 4096; ++i) many_notes += ", \"n\"";
  for (int i = 0; i < 5000; ++i) many_keys += fmt::format(", \"{}\": 0", i);
  const std::pair<std::string, std::string> changes[] = {{"\"schema_version\": 3", "\"schema_version\": 1"},
                                                         {"\"schema_version\": 3,", ""},
                                                         {"  \"layer\": \"fused\",\n", ""},
                                                         {"\"layer\": \"fused\"", "\"layer\": 7"},
                                                         {"\"seed\": 3", "\"seed\": 3.5"},
                                                         {"\"seed\": 3", "\"seed\": 18446744073709551615"},
                                                         {"\"seed\": 3", "\"seed\": 3, \"layers\": 1"},
                                                         {"\"seed\": 3", "\"seed\": 3, \"seed\": 4"},
                                                         {"\"batch_size\": 128", "\"batch_size\": null"},
                                                         {"\"train_loss\": 0.5", "\"train_loss\": \"low\""},
                                                         {"\"train_loss\": 0.5", "\"a\\nb\": \"low\""},
                                                         {"\"path_notes\": []", "\"path_notes\": [\"a\", 1]"},
                                                         {"\"path_notes\": []", "\"path_notes\": {}"},
                                                         {"\"path_notes\": [", many_notes},
                                                         {"\"seed\": 3", "\"seed\": 1e999"},
                                                         {"\"seed\": 3,", "\"seed\": 3;"},
                                                         {"\"seed\": 3", std::string("\"seed\": 3\0", 11)},
                                                         {"    }\n  },\n  \"ending\"", "    }\n  \"ending\""},
                                                         {"\"seed\": 3", many_keys},
                                                         {"\"seed\": 3", "\"seed\": " + std::string(1'000'000, '[')}};
  const TemporaryFolder folder;
  std::vector<std::string> messages;
  for (const auto& [from, to] : changes) {
    std::string text = kText;
    write_text(folder.path() / "summary.json", text.replace(text.find(from), from.size(), to));
    messages.push_back(message_of_error(ExitCode::kData, [&] { read_summary(folder.path()); }));
  }
  expect_golden(messages);
}

TEST(FinalMetrics, KeepTheLastValidation) {
  std::vector<EpochRow> rows = sample_rows({1, 1});
  rows[1].train_loss = 0.1;
  rows[1].valid_loss.reset();
  rows[1].metrics.erase("valid_accuracy");
  EXPECT_EQ(final_metrics(rows),
            (std::map<std::string, double>{
                {"train_accuracy", 0.75}, {"train_loss", 0.1}, {"valid_accuracy", 0.875}, {"valid_loss", 0.25}}));
  EXPECT_TRUE(final_metrics({}).empty());
}

TEST(EpochTime, LeavesWarmUpOut) {
  std::vector<EpochRow> rows = sample_rows({100, 3, 1, 2});
  rows[0].warmup = true;
  EXPECT_EQ(epoch_time(rows)->median_seconds, 2);
  EXPECT_EQ(epoch_time(rows)->num_epochs, 3);
  EXPECT_FALSE(epoch_time(std::span(rows).first(1)).has_value());
}

Summary read_version_2(const std::string& stop_reason, const std::string& warning) {
  const TemporaryFolder folder;
  write_text(folder.path() / "summary.json", text_of_version_2(stop_reason, warning));
  return read_summary(folder.path());
}

TEST(Summary, OfVersion2HasTheEndingOfItsWords) {
  EXPECT_EQ(read_version_2("3 epochs are done", "").ending, RunEnding::kComplete);
  EXPECT_EQ(read_version_2("terminated (SIGTERM)", "").ending, RunEnding::kInterrupted);
  EXPECT_EQ(read_version_2("training diverged in epoch 2", "").ending, RunEnding::kDiverged);
}

TEST(Summary, OfVersion2HasTheKindsOfItsWarnings) {
  const auto kind_of = [](const std::string& text) { return read_version_2("", text).warnings.at(0).kind; };
  EXPECT_EQ(kind_of("THE CPU WAS SHARED: other work"), warning::kCpuShared);
  EXPECT_EQ(kind_of("GPU 0 (NVIDIA T4) WAS SHARED: 1 process"), warning::kGpuShared);
  EXPECT_EQ(kind_of("something"), warning::kOther);
}

TEST(Summary, OfVersion2HasNoProcess) { EXPECT_EQ(read_version_2("", "").turn.process, ""); }

}  // namespace
}  // namespace rnnlab::testing
