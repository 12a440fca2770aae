// SPDX-License-Identifier: Apache-2.0
// Describes a .ts file for `data inspect`, and finds the pairs of files of the UCR and UEA archives.
#include <algorithm>
#include <array>
#include <iterator>

#include "base/folder.h"
#include "base/text.h"
#include "data/inspect.h"
#include "data/readers/ts.h"

namespace rnnlab {

using Path = std::filesystem::path;

std::optional<ArchiveFiles> archive_files(const Path& path) {
  constexpr std::string_view kTrain = "_TRAIN.", kTest = "_TEST.";
  ArchiveFiles files{folder_of(path), path.filename().string(), path.filename().string()};
  const size_t train_at = files.train.find(kTrain), test_at = files.test.find(kTest);
  if ((train_at == std::string::npos) == (test_at == std::string::npos)) return std::nullopt;
  if (train_at != std::string::npos) files.test.replace(train_at, kTrain.size(), kTest);
  if (test_at != std::string::npos) files.train.replace(test_at, kTest.size(), kTrain);
  const auto is_there = [&](const std::string& name) { return is_file(files.folder / name); };
  return is_there(files.train) && is_there(files.test) ? std::optional(files) : std::nullopt;
}

std::vector<std::string> yaml_of_files(const Path& path) {
  const std::optional<ArchiveFiles> files = archive_files(path);
  if (!files) return {"  path: " + yaml_text(path.string())};
  return {"  path: " + yaml_text(files->folder.string()), "  train_file: " + yaml_text(files->train),
          "  test_file: " + yaml_text(files->test) + "  # only --part test reads it"};
}

namespace {

void add_classes(Json& json, const TsFile& file) {
  std::vector<int64_t> classes;
  for (const TsSeries& series : file.series) classes.push_back(series.label);
  const ClassCounts counts = count_classes("", classes, std::ssize(file.labels));
  for (size_t i = 0; i < file.labels.size(); ++i) add_class(json, file.labels[i], counts.counts[i]);
}

// Lengths are those of the series if they vary. Missing values count as 0 here.
Json json_of(const TsFile& file) {
  const int64_t num_series = std::ssize(file.series);
  const auto json_of_each = [&](const char* type, auto member) {
    return array_json(std::array{num_series}, type, NumberSummary::of(std::views::transform(file.series, member)));
  };
  Json json = {{"samples", num_series}};
  json["inputs"] =
      array_json(std::array{num_series, file.most_steps(), file.num_dimensions}, "f32", NumberSummary::of(file.values));
  if (file.target == TsTarget::kNumber) json["targets"] = json_of_each("f32", &TsSeries::target);
  if (file.fewest_steps() != file.most_steps()) json["lengths"] = json_of_each("i64", &TsSeries::num_steps);
  if (file.target == TsTarget::kClass && file.labels.size() <= kMostClasses) add_classes(json, file);
  json["missing"] = file.num_missing;
  return json;
}

std::vector<std::string> yaml_for(const TsFile& file, const Path& path) {
  if (file.target == TsTarget::kNone) return {};
  std::vector<std::string> lines = {"data:", "  source: ts"};
  std::ranges::copy(yaml_of_files(path), std::back_inserter(lines));
  if (file.num_missing > 0) lines.emplace_back("  missing: zero        # or previous, the value of the step before");
  const bool has_classes = file.target == TsTarget::kClass;
  std::ranges::copy(yaml_of_model(has_classes ? Task::kClassification : Task::kRegression), std::back_inserter(lines));
  return lines;
}

std::vector<std::string> hints_on(const TsFile& file) {
  if (file.target != TsTarget::kNone) return {};
  return {"the series have neither a class nor a target, so a model cannot be trained on them: use them for predict"};
}

bool is_named_ts(const Path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".ts") || name.ends_with(".ts.gz");
}

}  // namespace

std::optional<FileInspection> inspect_ts_file(const Path& path, const std::string& head) {
  if (!is_named_ts(path) && !begins_like_ts(head)) return std::nullopt;
  const TsFile file = read_ts(path, MissingPolicy::kZero);
  return FileInspection{path.string(), Source::kTs, json_of(file), hints_on(file), yaml_for(file, path)};
}

}  // namespace rnnlab
