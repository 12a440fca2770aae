// SPDX-License-Identifier: Apache-2.0
// Fuzzes settings of data of unknown origin, with the files that they name. The input is the YAML below `data:`, and
// after each line of "===" a file, named a, b and c. Loaded data must be consistent, pass the checks of a checkpoint,
// and be read again for predictions.
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "base/numbers.h"
#include "base/text.h"
#include "data/load_dataset.h"
#include "fuzz/fuzz_support.h"

namespace rnnlab::testing {
namespace {

constexpr std::string_view kSeparator = "\n===\n";

// An empty folder in memory, in which the process works from now on, with files a, b and c.
class FilesInMemory {
 public:
  FilesInMemory() {
    work_in_memory("dataset");
    ::unsetenv("RNNLAB_DATA");
    for (size_t i = 0; i < descriptors_.size(); ++i) {
      descriptors_[i] = ::open(std::string(1, static_cast<char>('a' + i)).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
      require(descriptors_[i] >= 0);
    }
    at::set_num_threads(1);
  }

  static constexpr size_t kNumFiles = 3;

  void write(size_t file, std::string_view bytes) {
    require(::ftruncate(descriptors_[file], 0) == 0);
    require(::pwrite(descriptors_[file], bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  std::array<int, kNumFiles> descriptors_{};
};

// The text before the first separator, which goes with it.
std::string_view take_part(std::string_view& rest) {
  const size_t end = rest.find(kSeparator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + kSeparator.size());
  return part;
}

// Only files of the target's own are read, and no more is drawn than takes a moment.
bool is_small(const DataSettings& s) {
  constexpr int64_t kMostGenerated = 1 << 16;
  for (const std::string& name :
       {s.path, s.train_inputs, s.train_targets, s.train_lengths, s.valid_inputs, s.valid_targets, s.valid_lengths,
        s.train_file, s.valid_file, s.test_inputs, s.test_targets, s.test_lengths, s.test_file})
    if (name.find('/') != std::string::npos) return false;
  return least_data_bytes(s) <= kMostGenerated;
}

void require_whole(const Samples& samples, const DataShape& shape) {
  if (samples.size() == 0) return;
  require(samples.mapped || samples.inputs.is_contiguous());
  require(samples.sequence_length() == shape.sequence_length);
  require(shape.task == Task::kLanguageModel || samples.num_features() == shape.input_size);
  require(samples.targets.size(0) == samples.size());
  const bool are_classes = shape.task == Task::kClassification || shape.task == Task::kLanguageModel;
  if (are_classes) require(samples.targets.min().item<int64_t>() >= 0);
  if (are_classes) require(samples.targets.max().item<int64_t>() < shape.num_outputs);
  if (!are_classes)
    require(samples.targets.size(1) == shape.num_outputs && samples.targets.isfinite().all().item<bool>());
}

const std::initializer_list<ExitCode> kOfData = {ExitCode::kUsage, ExitCode::kData, ExitCode::kDiverged};

void load(const DataSettings& settings) {
  const Dataset data = load_dataset(settings);
  require_whole(data.train, data.shape);
  require_whole(data.valid, data.shape);
  require(fault_of(data, settings).empty());
  for (const DataPart part : {DataPart::kTrain, DataPart::kValid, DataPart::kAll})
    for (const Targets targets : {Targets::kRequired, Targets::kIfPresent})
      expect_done_or_refused(kOfData, [&] { load_for_inference(settings, data, part, targets); });
}

void read(std::string_view input) {
  static FilesInMemory files;
  config::Findings findings;
  const auto document = config::Document::from_text(std::string(take_part(input)), "x.yaml", findings);
  const auto settings = config::read(document, DataSettings::schema(), findings);
  if (!findings.empty() || !is_small(settings)) return;
  for (size_t file = 0; file < FilesInMemory::kNumFiles; ++file) files.write(file, take_part(input));
  expect_done_or_refused(kOfData, [&] { load(settings); });
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  testing::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
