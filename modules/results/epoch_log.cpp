#include "results/epoch_log.h"

#include "results/epoch_text.h"
#include "results/files.h"
#include "results/run_folder.h"

namespace rnnlab {

EpochLog::EpochLog(const std::filesystem::path& run_folder)
    : csv_(run_folder / kEpochsCsvFile), jsonl_(run_folder / kEpochsJsonlFile) {
  if (csv_.is_empty()) csv_.append(epoch_csv_header());
}

void EpochLog::append(const EpochRow& row) {
  csv_.append(epoch_csv_line(row));
  jsonl_.append(epoch_jsonl_line(row));
}

void EpochLog::finish() {
  csv_.sync();
  jsonl_.sync();
}

std::vector<EpochRow> read_epochs(const std::filesystem::path& run_folder) {
  constexpr int64_t kMaxBytes = int64_t{1} << 28;  // a million epochs
  const std::filesystem::path path = run_folder / kEpochsCsvFile;
  return parse_epochs_csv(read_file(path, kMaxBytes), path.string());
}

}  // namespace rnnlab
