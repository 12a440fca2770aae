// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of tables: the file a.csv, and settings of source csv that each test completes.
#pragma once

#include <string>
#include <utility>

#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {

class CsvData : public DataTest {
 protected:
  // `common` has the settings that all tests of a suite share.
  explicit CsvData(std::string common = "") : common_(std::move(common)) {}

  // Returns settings without the common ones.
  DataSettings table(const std::string& rest) const {
    return parse_settings("source: csv\npath: " + path("a.csv") + "\n" + rest);
  }
  DataSettings settings(const std::string& more) const { return table(common_ + more); }
  Dataset load(const std::string& more = "") const { return load_dataset(settings(more)); }
  std::string load_error(const std::string& more = "") const {
    return error_of(ExitCode::kData, [&] { load(more); });
  }
  // Loads a.csv for training and b.csv for validation.
  Dataset load_both(const std::string& more) const {
    return load_dataset(
        parse_settings("source: csv\npath: " + folder().string() + "\ntrain_file: a.csv\nvalid_file: b.csv\n" + more));
  }
  std::string usage_error(const std::string& more) const {
    return error_of(ExitCode::kUsage, [&] { settings(more); });
  }
  // Uses a.csv, which may be another table than that of training.
  InferenceData use(const std::string& more, const Dataset& trained, DataPart part = DataPart::kAll,
                    Targets targets = Targets::kIfPresent) const {
    return load_for_inference(settings(more), trained, part, targets);
  }

 private:
  std::string common_;
};

}  // namespace rnnlab
