// SPDX-License-Identifier: Apache-2.0
// The source text: windows of a text that do not overlap. The target of each step is the next token.
#include <ATen/ops/empty.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/find_data.h"
#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data/source.h"

namespace rnnlab {
namespace {

// Returns (N, T) with N = (tokens - 1) / T: every window needs one token after it. Remaining tokens are not used.
Samples windows_of(const std::vector<int64_t>& tokens, int64_t num_steps, const std::string& origin) {
  const int64_t num_windows = (static_cast<int64_t>(tokens.size()) - 1) / num_steps;
  if (num_windows == 0) {
    throw_error(
        ExitCode::kData,
        "{}: got {}, expected at least {} for a data.sequence_length of {}: use a shorter one, or a longer text",
        origin, counted(std::ssize(tokens), "token"), format_count(saturating_add(num_steps, 1)),
        format_count(num_steps));
  }
  Samples samples;
  samples.inputs = at::empty({num_windows, num_steps}, at::kLong);
  samples.targets = at::empty({num_windows, num_steps}, at::kLong);
  const auto num_used = static_cast<size_t>(num_windows * num_steps);
  std::copy_n(tokens.begin(), num_used, samples.inputs.mutable_data_ptr<int64_t>());
  std::copy_n(tokens.begin() + 1, num_used, samples.targets.mutable_data_ptr<int64_t>());
  return samples;
}

std::string windows_text(int64_t num_tokens, const Samples& windows) {
  const int64_t num_left = num_tokens - windows.inputs.numel() - 1;
  return fmt::format("{} in {}; {} left over at the end", counted(num_tokens, "token"),
                     counted(windows.size(), "window"), num_left == 0 ? "none" : counted(num_left, "token"));
}

std::filesystem::path find_text(const DataSettings& settings, const std::string& name) {
  const bool tiny_shakespeare = settings.path.empty() && settings.train_file.empty();
  if (tiny_shakespeare) {
    return find_data({"", "input.txt", "tinyshakespeare",
                      "Run `data/fetch tinyshakespeare` in the source folder of rnnlab to get this one, or set "
                      "data.path to your own text."});
  }
  return find_data(
      {settings.path, name, "", "Name the text by data.path, or by data.train_file in the folder data.path."});
}

Loaded load_text(const DataSettings& settings) {
  const std::filesystem::path path = find_text(settings, settings.train_file);
  const Text text = read_text(path, settings.tokens);
  Loaded loaded;
  loaded.origin = {"text", path};
  Dataset& dataset = loaded.dataset;
  dataset.vocabulary = text.vocabulary;
  const auto num_tokens = static_cast<int64_t>(text.vocabulary.size());
  dataset.shape = {Task::kLanguageModel, num_tokens, settings.sequence_length, num_tokens, false};
  const Samples all = windows_of(text.tokens, settings.sequence_length, path);
  dataset.notes.push_back(windows_text(std::ssize(text.tokens), all));
  std::optional<Samples> valid;
  if (!settings.valid_file.empty()) {
    const std::filesystem::path file = find_text(settings, settings.valid_file);
    valid = windows_of(read_text_as(file, settings.tokens, text.vocabulary), settings.sequence_length, file);
  }
  split_samples(loaded, all, valid, {}, settings, path);
  return loaded;
}

LoadedPart load_text_part(const DataSettings& settings, const FittedData& fitted, DataPart part, Targets) {
  const bool has_own_file = part == DataPart::kValid && !settings.valid_file.empty();
  const auto path = find_text(settings, has_own_file ? settings.valid_file : settings.train_file);
  const Samples all =
      windows_of(read_text_as(path, settings.tokens, fitted.vocabulary), settings.sequence_length, path);
  LoadedPart loaded{.samples = all, .origin = {"text", path}};
  const bool is_split = part != DataPart::kAll && !has_own_file;  // a long text must not be copied
  if (is_split) loaded.samples = take(all, samples_of_part(part, all.size(), {}, settings, path));
  return loaded;
}

bool is_token(const std::string& text) { return text.size() == 1 || (is_valid_utf8(text) && display_width(text) == 1); }

std::string fault_of_text(const FittedData& data, const DataSettings&) {
  if (data.vocabulary.empty()) return "a text without tokens";
  if (!std::ranges::all_of(data.vocabulary, is_token)) return "a token that is neither a byte nor a character";
  return "";
}

DataShape least_text_shape(const DataSettings& settings) {
  return {Task::kLanguageModel, 1, settings.sequence_length, 1, false};
}

}  // namespace

const SourceInfo& text_source() {
  static const SourceInfo info = {
      .description = "a text, for a language model",
      .form = DataForm::kText,
      .tasks = {Task::kLanguageModel},
      .keys = {"path", "valid_fraction", "test_fraction", "split", "seed", "train_file", "valid_file", "num_test",
               "test_file", "tokens", "sequence_length"},
      .least_shape = least_text_shape,
      .load = load_text,
      .load_part = load_text_part,
      .fault = fault_of_text,
      .inspect_file = inspect_text_file,
  };
  return info;
}

}  // namespace rnnlab
