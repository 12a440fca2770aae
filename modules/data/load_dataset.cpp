#include "data/load_dataset.h"

#include "base/error.h"
#include "base/numbers.h"
#include "data/fingerprint.h"
#include "data/normalize.h"
#include "data/sources.h"
#include "data/split.h"

namespace rnnlab {

Loaded load_source(const DataSettings& settings) {
  switch (settings.source) {
    case Source::kDigits:
      return load_digits(settings);
    case Source::kMnist:
      return load_mnist(settings);
    case Source::kIdx:
    case Source::kNpy:
      return load_arrays(settings);
    case Source::kCsv:
      return load_csv(settings);
    case Source::kText:
      return load_text(settings);
    case Source::kSynthetic:
      break;
  }
  return load_synthetic(settings);
}

namespace {

std::string outputs_text(const DataShape& shape) {
  switch (shape.task) {
    case Task::kClassification:
      return counted(shape.num_outputs, "class");
    case Task::kBinary:
      return counted(shape.num_outputs, "binary target");
    case Task::kRegression:
      return counted(shape.num_outputs, "target");
    case Task::kLanguageModel:
      break;
  }
  return fmt::format("vocabulary {}", shape.num_outputs);
}

// Tables have kept theirs, column by column.
void keep_scaling(Dataset& dataset, Normalization how, const std::vector<Scaling>& features) {
  dataset.normalization = how;
  for (const Scaling& feature : features) dataset.feature_scales.push_back({"", feature.offset, feature.scale});
}

std::string describe(const std::string& origin, const Dataset& dataset) {
  const DataShape& shape = dataset.shape;
  const std::string steps = shape.task == Task::kLanguageModel
                                ? counted(shape.sequence_length, "token")
                                : counted(shape.sequence_length, "step") + " x " + counted(shape.input_size, "feature");
  return fmt::format("{}: {} training and {} validation samples of {}, {}{}", origin,
                     format_count(dataset.train.size()), format_count(dataset.valid.size()), steps, outputs_text(shape),
                     shape.has_lengths ? ", variable lengths" : "");
}

}  // namespace

Dataset load_dataset(const DataSettings& settings) {
  Loaded loaded = load_source(settings);
  Dataset& dataset = loaded.dataset;
  dataset.train = take_first(dataset.train, settings.num_train, "num_train", loaded.origin.text());
  dataset.valid = take_first(dataset.valid, settings.num_valid, "num_valid", loaded.origin.text());
  const Normalized scaling = normalize(dataset.train, dataset.valid, loaded.normalize);
  if (!scaling.note.empty()) dataset.notes.push_back(scaling.note);
  if (settings.source != Source::kCsv) keep_scaling(dataset, loaded.normalize, scaling.features);
  dataset.description = describe(loaded.origin.text(), dataset);
  dataset.fingerprint = fingerprint(dataset.train, dataset.valid);
  return std::move(dataset);
}

}  // namespace rnnlab
