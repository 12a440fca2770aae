// SPDX-License-Identifier: Apache-2.0
#include "runs/use/trained_runs.h"

#include <fmt/format.h>

#include <cmath>

namespace rnnlab::testing {

std::filesystem::path TrainedRuns::train(const std::string& yaml, const std::vector<std::string>& overrides) {
  config::Findings findings;
  auto document = config::Document::from_text("name: small\ndevice: cpu\n" + yaml, name("small.yaml"), findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  const auto cases = read_cases(document, findings);
  findings.throw_if_any();
  return run_quietly(cases.front().experiment, folder_.path()).folder;
}

void TrainedRuns::write_flowers(const std::string& file) const {
  std::string text = "length,width,kind\n";
  for (int i = 0; i < 40; ++i)
    text += fmt::format("{},{},{}\n", 10 + i % 7 + (i % 2) * 20, 3 + i % 5, i % 2 == 0 ? "iris" : "rose, red");
  // A kind with a comma needs its quotes.
  for (size_t at = text.find("rose, red"); at != std::string::npos; at = text.find("rose, red", at + 11))
    text.replace(at, 9, "\"rose, red\"");
  write(file, text);
}

std::filesystem::path TrainedRuns::train_flowers(const std::vector<std::string>& overrides) {
  write_flowers("flowers.csv");
  return train(
      "layer: naive\ndata: {source: csv, path: flowers.csv, target: [kind]}\nmodel: {hidden_size: 6}\n"
      "training: {epochs: 4, batch_size: 8, learning_rate: 0.05}\n",
      overrides);
}

void TrainedRuns::write_series(const std::string& file, int num_rows) const {
  std::string text = "level,flow\n";
  for (int i = 0; i < num_rows; ++i)
    text += fmt::format("{:.4f},{:.4f}\n", 100 + 50 * std::sin(0.3 * i), 5 + 2 * std::cos(0.3 * i));
  write(file, text);
}

std::filesystem::path TrainedRuns::train_series(const std::vector<std::string>& overrides) {
  write_series("series.csv", 120);
  return train(
      "layer: naive\ndata: {source: csv, path: series.csv, target: [level], window: 8, horizon: 2}\n"
      "model: {kind: sequence_regressor, hidden_size: 6}\n"
      "training: {epochs: 3, batch_size: 16, learning_rate: 0.02}\n",
      overrides);
}

std::filesystem::path TrainedRuns::train_text(const std::vector<std::string>& overrides) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "über-all: ab, ba. ";
  write("text.txt", text);
  return train(
      "layer: fused\ndata: {source: text, path: text.txt, sequence_length: 40}\n"
      "model: {kind: language_model, hidden_size: 16}\n"
      "training: {epochs: 6, batch_size: 4, learning_rate: 0.02}\n",
      overrides);
}

}  // namespace rnnlab::testing
