// SPDX-License-Identifier: Apache-2.0
// Describes a .ts file for `data inspect`, and finds the pairs of files of the UCR and UEA archives.
#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "data/readers/ts.h"

namespace rnnlab {

using Path = std::filesystem::path;

std::optional<ArchiveFiles> archive_files(const Path& path) {
  constexpr std::string_view kTrain = "_TRAIN.", kTest = "_TEST.";
  ArchiveFiles files{path.has_parent_path() ? path.parent_path() : Path("."), path.filename().string(),
                     path.filename().string()};
  const size_t train_at = files.train.find(kTrain), test_at = files.test.find(kTest);
  if ((train_at == std::string::npos) == (test_at == std::string::npos)) return std::nullopt;
  if (train_at != std::string::npos) files.test.replace(train_at, kTrain.size(), kTest);
  if (test_at != std::string::npos) files.train.replace(test_at, kTest.size(), kTrain);
  const auto is_there = [&](const std::string& name) { return std::filesystem::is_regular_file(files.folder / name); };
  return is_there(files.train) && is_there(files.test) ? std::optional(files) : std::nullopt;
}

std::vector<std::string> yaml_of_files(const Path& path) {
  const std::optional<ArchiveFiles> files = archive_files(path);
  if (!files) return {"  path: " + yaml_text(path.string())};
  return {"  path: " + yaml_text(files->folder.string()), "  train_file: " + yaml_text(files->train),
          "  test_file: " + yaml_text(files->test) + "  # only --part test reads it"};
}

namespace {

std::vector<ClassCount> class_counts(const TsFile& file) {
  std::vector<ClassCount> classes;
  for (const std::string& label : file.labels) classes.push_back({label, 0});
  for (const TsSeries& series : file.series)
    if (series.label >= 0) ++classes[static_cast<size_t>(series.label)].count;
  return classes;
}

PartInspection part_of_file(const TsFile& file) {
  PartInspection part;
  part.num_samples = std::ssize(file.series);
  const auto with_numbers = [&](std::vector<int64_t> shape, const char* type, auto member) {
    return ArraySummary{std::move(shape), type, NumberSummary::of(std::views::transform(file.series, member))};
  };
  part.inputs =
      ArraySummary{{part.num_samples, file.most_steps(), file.num_dimensions}, "f32", NumberSummary::of(file.values)};
  if (file.target == TsTarget::kNumber) part.targets = with_numbers({part.num_samples}, "f32", &TsSeries::target);
  if (file.fewest_steps() != file.most_steps())
    part.lengths = with_numbers({part.num_samples}, "i64", &TsSeries::num_steps);
  if (file.target == TsTarget::kClass && file.labels.size() <= kMostClasses) part.classes = class_counts(file);
  return part;
}

std::vector<std::string> yaml_for(const TsFile& file, const Path& path) {
  if (file.target == TsTarget::kNone) return {};
  std::vector<std::string> lines = {"data:", "  source: ts"};
  std::ranges::copy(yaml_of_files(path), std::back_inserter(lines));
  if (file.num_missing > 0) lines.emplace_back("  missing: zero        # or previous, the value of the step before");
  const bool has_classes = file.target == TsTarget::kClass;
  lines.insert(lines.end(), {"model:", has_classes ? "  kind: sequence_classifier" : "  kind: sequence_regressor"});
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
  return FileInspection{path.string(), Source::kTs, SeriesInspection{part_of_file(file), file.num_missing},
                        hints_on(file), yaml_for(file, path)};
}

}  // namespace rnnlab
