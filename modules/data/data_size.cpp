#include "data/data_size.h"

#include <algorithm>
#include <filesystem>

#include "base/numbers.h"
#include "data/csv_part.h"
#include "data/find_data.h"
#include "data/readers/generated.h"

namespace rnnlab {
namespace {

constexpr int64_t kSyntheticClasses = 10;

int64_t largest_file_bytes(const DataSettings& settings) {
  int64_t largest = 0;
  for (const std::filesystem::path& file : data_files(settings)) {
    std::error_code error;
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(file, error));
    if (!error) largest = std::max(largest, bytes);
  }
  return largest;
}

// Inputs are float32; targets are int64 classes or float32 numbers.
int64_t sample_bytes(const DataSettings& settings, const DataShape& shape) {
  const bool are_classes = settings.source == Source::kDigits || settings.labels == Labels::kClasses;
  const int64_t target = are_classes ? sizeof(int64_t) : sizeof(float);
  const int64_t num_inputs = saturating_multiply(shape.sequence_length, shape.input_size);
  return saturating_add(saturating_multiply(num_inputs, sizeof(float)), target);
}

DataShape synthetic_shape(const DataSettings& settings) {
  DataShape shape{Task::kRegression, settings.num_features, settings.sequence_length, 1, false};
  if (settings.labels == Labels::kBinary) shape.task = Task::kBinary;
  if (settings.labels == Labels::kClasses) {
    shape.task = Task::kClassification;
    shape.num_outputs = settings.num_classes.value_or(kSyntheticClasses);
  }
  return shape;
}

}  // namespace

int64_t least_data_bytes(const DataSettings& settings) {
  if (!is_generated(settings)) return largest_file_bytes(settings);
  const GeneratedCounts counts = generated_counts(settings);
  return saturating_multiply(saturating_add(counts.train, counts.valid), sample_bytes(settings, least_shape(settings)));
}

bool is_generated(const DataSettings& settings) {
  return settings.source == Source::kDigits || settings.source == Source::kSynthetic;
}

GeneratedCounts generated_counts(const DataSettings& settings) {
  const GeneratedCounts usual =
      settings.source == Source::kDigits ? GeneratedCounts{60000, 10000} : GeneratedCounts{1024, 256};
  return {settings.num_train.value_or(usual.train), settings.num_valid.value_or(usual.valid)};
}

DataShape least_shape(const DataSettings& settings) {
  switch (settings.source) {
    case Source::kDigits:
      return {Task::kClassification, kDigitSize, kDigitSize, 10, false};
    case Source::kSynthetic:
      return synthetic_shape(settings);
    case Source::kText:
      return {Task::kLanguageModel, 1, settings.sequence_length, 1, false};
    case Source::kCsv:
      return {csv_task(settings), 1, std::max<int64_t>(settings.window, 1), 1, false};
    case Source::kMnist:
    case Source::kIdx:
    case Source::kNpy:
      break;
  }
  return {named_task(settings.task).value_or(Task::kClassification), 1, 1, 1, false};
}

}  // namespace rnnlab
