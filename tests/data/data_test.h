// SPDX-License-Identifier: Apache-2.0
// Functions that tests of data share: a fresh folder, files, settings from YAML, and the message of an error.
#pragma once

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/schema.h"
#include "base/error.h"
#include "base/system/temporary_folder.h"
#include "data/data_settings.h"
#include "npy_file.h"

namespace rnnlab {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();  // a target that is missing

// Returns settings as if they were below `data:` of an experiment.
inline DataSettings parse_settings(const std::string& yaml) {
  config::Findings findings;
  const config::Document document = config::Document::from_text(yaml, "test.yaml", findings);
  DataSettings settings = config::read(document, DataSettings::schema(), findings);
  findings.throw_if_any();
  return settings;
}

template <class T>
std::vector<T> values_of(const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.contiguous();
  const T* data = contiguous.const_data_ptr<T>();
  return {data, data + contiguous.numel()};
}

// A fresh folder, which is removed after the test. During the test it is the current folder, and $RNNLAB_DATA is unset,
// so that no data of the user are found.
class DataTest : public ::testing::Test {
 protected:
  DataTest() {
    if (const char* root = std::getenv("RNNLAB_DATA")) real_data_ = std::filesystem::absolute(root).string();
    unsetenv("RNNLAB_DATA");
    previous_ = std::filesystem::current_path();
    std::filesystem::current_path(folder());
  }
  ~DataTest() override {
    std::filesystem::current_path(previous_);
    if (!real_data_.empty()) setenv("RNNLAB_DATA", real_data_.c_str(), 1);
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  const std::string& real_data() const { return real_data_; }
  std::string path(std::string_view name) const { return (folder() / name).string(); }

  void write(std::string_view name, std::string_view bytes) const {
    testing::write_text(path(name), std::string(bytes));
  }

  std::string read(std::string_view name) const { return testing::read_text(path(name)); }

  // Replaces a text in the file, such as "False" in the header of an .npy file.
  void replace_in(std::string_view name, std::string_view from, std::string_view to) const {
    std::string bytes = read(name);
    write(name, bytes.replace(bytes.find(from), from.size(), to));
  }

  // Writes unsigned bytes, with big-endian sizes.
  void write_idx(std::string_view name, const std::vector<int64_t>& shape, const std::string& content) const {
    std::string bytes{'\0', '\0', '\x08', static_cast<char>(shape.size())};
    for (const int64_t size : shape) {
      for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(size >> shift & 0xff);
    }
    write(name, bytes + content);
  }

  // Writes version 1.0; `type` is NumPy's, such as "<f4".
  template <class T>
  void write_npy(std::string_view name, const std::string& type, const std::string& shape,
                 const std::vector<T>& values) const {
    write(name, npy_file(type, shape, values));
  }

  // Returns the message of the error that `action` must throw, with {} for the folder.
  template <class Action>
  std::string error_of(ExitCode exit_code, Action&& action) const {
    try {
      action();
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), exit_code);
      return testing::replaced(error.what(), folder().string(), "{}");
    }
    return "no error";
  }

 private:
  testing::TemporaryFolder folder_;
  std::filesystem::path previous_;
  std::string real_data_;
};

}  // namespace rnnlab
