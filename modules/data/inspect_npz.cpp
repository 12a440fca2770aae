// SPDX-License-Identifier: Apache-2.0
// Describes the arrays of an .npz archive for `data inspect`, and guesses from their names how to train on them.
#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/array.h"
#include "data/readers/npz.h"

namespace rnnlab {
namespace {

using Path = std::filesystem::path;

// The usual names of the arrays of one part; those of the other parts have another word instead of "train".
struct UsualNames {
  std::string_view inputs, targets, lengths;
};

constexpr std::array<UsualNames, 8> kUsualNames = {{{"x_train", "y_train", "lengths_train"},
                                                    {"X_train", "y_train", "lengths_train"},
                                                    {"train_x", "train_y", "train_lengths"},
                                                    {"train_inputs", "train_targets", "train_lengths"},
                                                    {"x", "y", "lengths"},
                                                    {"X", "y", "lengths"},
                                                    {"inputs", "targets", "lengths"},
                                                    {"images", "labels", "lengths"}}};

// The words of names for the parts of data.
struct PartWords {
  std::string_view key;  // of data.KEY_inputs
  std::vector<std::string_view> words;
};

const std::array<PartWords, 3> kPartWords = {
    {{"train", {"train"}}, {"valid", {"valid", "val", "validation"}}, {"test", {"test"}}}};

std::string for_part(std::string_view usual, std::string_view word) {
  constexpr std::string_view kTrain = "train";
  std::string name(usual);
  const size_t at = name.find(kTrain);
  return at == std::string::npos ? name : name.replace(at, kTrain.size(), word);
}

const ArraySummary* find_array(const ArchiveInspection& archive, std::string_view name) {
  const auto found = std::ranges::find(archive.arrays, name, &NamedArray::name);
  return found == archive.arrays.end() ? nullptr : &found->array;
}

bool has_integers(const ArraySummary& array) { return !array.type.starts_with('f'); }

bool may_be_lengths_of(const ArraySummary& lengths, const ArraySummary& inputs) {
  return lengths.shape.size() == 1 && inputs.shape.size() >= 2 && lengths.shape[0] == inputs.shape[0] &&
         has_integers(lengths) && lengths.numbers.finite().minimum() >= 1 &&
         lengths.numbers.finite().maximum() <= static_cast<double>(inputs.shape[1]);
}

// Writes the lines that name the arrays of an archive.
class ArchiveYaml {
 public:
  ArchiveYaml(Path path, const ArchiveInspection& archive) : path_(std::move(path)), archive_(archive) {}

  // Returns the lines of an experiment; none if no usual pair of inputs and targets is there.
  std::vector<std::string> lines() {
    const auto* const usual = std::ranges::find_if(
        kUsualNames, [&](const UsualNames& names) { return has_pair(names.inputs, names.targets); });
    if (usual == kUsualNames.end()) return {};
    const std::string folder = path_.has_parent_path() ? path_.parent_path().string() : ".";
    lines_ = {"data:", "  source: npy", "  path: " + yaml_text(folder)};
    const bool has_parts = usual->inputs.find("train") != std::string_view::npos;
    for (const PartWords& part : std::span(kPartWords).first(has_parts ? kPartWords.size() : 1)) add_part(part, *usual);
    const ArraySummary& targets = *find_array(archive_, usual->targets);
    const std::vector<int64_t>& inputs = find_array(archive_, usual->inputs)->shape;
    byte_maximum_ = small_byte_maximum(*find_array(archive_, usual->inputs));
    if (byte_maximum_ > 0) lines_.push_back(byte_maximum_line(byte_maximum_));
    const bool are_tags = are_classes_of_steps(targets.shape, has_integers(targets), inputs);
    if (are_tags || are_numbers_of_steps(targets.shape, inputs)) lines_.emplace_back("  target_per: step");
    const bool are_classes = are_tags || (targets.shape.size() == 1 && has_integers(targets));
    lines_.insert(lines_.end(), {"model:", are_classes ? "  kind: sequence_classifier" : "  kind: sequence_regressor"});
    return lines_;
  }

  // Returns small_byte_maximum() of the training inputs, after lines().
  int64_t byte_maximum() const { return byte_maximum_; }

 private:
  bool has_pair(std::string_view inputs, std::string_view targets) const {
    const ArraySummary* const x = find_array(archive_, inputs);
    const ArraySummary* const y = find_array(archive_, targets);
    return x != nullptr && y != nullptr && x->shape.size() >= 2 && x->shape[0] == y->shape[0];
  }

  void add_part(const PartWords& part, const UsualNames& usual) {
    for (const std::string_view word : part.words) {
      const std::string inputs = for_part(usual.inputs, word), targets = for_part(usual.targets, word);
      if (!has_pair(inputs, targets)) continue;
      add(part.key, "inputs", inputs);
      add(part.key, "targets", targets);
      add_lengths(part, for_part(usual.lengths, word), *find_array(archive_, inputs));
      return;
    }
  }

  // lengths: the array's name, in which "n" may stand for "lengths".
  void add_lengths(const PartWords& part, const std::string& lengths, const ArraySummary& inputs) {
    constexpr std::string_view kWord = "lengths";
    std::string short_name = lengths;
    short_name.replace(short_name.find(kWord), kWord.size(), "n");
    for (const std::string& name : {lengths, short_name}) {
      const ArraySummary* const found = find_array(archive_, name);
      if (found != nullptr && may_be_lengths_of(*found, inputs)) return add(part.key, "lengths", name);
    }
  }

  void add(std::string_view part, std::string_view what, const std::string& array) {
    lines_.push_back(fmt::format("  {}_{}: {}", part, what, yaml_text(path_.filename().string() + ":" + array)));
  }

  Path path_;
  const ArchiveInspection& archive_;
  std::vector<std::string> lines_;
  int64_t byte_maximum_ = 0;
};

// How much is unpacked to describe an archive. A small file can be made to unpack to a thousand times its size, and a
// description should not take longer than the file lets expect.
class UnpackingBudget {
 public:
  explicit UnpackingBudget(const Path& path) {
    constexpr int64_t kAlways = int64_t{64} << 20, kMostExpansion = 50;
    std::error_code ignored;  // an error is found when the file is read
    const auto num_bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
    left_ = std::max(kAlways, saturating_multiply(ignored ? 0 : num_bytes, kMostExpansion));
  }

  // Throws UserError kData if too little is left for the array.
  void take(const ByteStream& array) {
    if (array.most_bytes() > left_)
      throw_error(ExitCode::kData,
                  "{}: not examined: it unpacks to {}, many times the size of the archive: unpack the archive with "
                  "unzip, and examine the .npy file",
                  array.path(), format_bytes(array.most_bytes()));
    left_ -= array.most_bytes();
  }

 private:
  int64_t left_ = 0;
};

// An array of objects or texts must not hide the others, so its error becomes a hint. If no array can be read, the
// error of the first is thrown. names: at least one.
ArchiveInspection inspect_arrays(const NpzArchive& file, const std::vector<std::string>& names, UnpackingBudget budget,
                                 std::vector<std::string>& hints) {
  constexpr size_t kMostArrays = 256;
  ArchiveInspection archive;
  std::exception_ptr first_error;
  if (names.size() > kMostArrays)
    hints.push_back(fmt::format("only the first {} of {} arrays are shown", kMostArrays, names.size()));
  for (const std::string& name : std::span(names).first(std::min(names.size(), kMostArrays))) {
    try {
      const std::unique_ptr<ByteStream> stream = file.open(name);
      budget.take(*stream);
      archive.arrays.push_back({name, summary_of_array(read_npy(*stream))});
    } catch (const UserError& error) {
      if (!first_error) first_error = std::current_exception();
      hints.emplace_back(error.what());
    }
  }
  if (archive.arrays.empty()) std::rethrow_exception(first_error);
  return archive;
}

}  // namespace

std::optional<FileInspection> inspect_npz_file(const Path& path, const std::string& head) {
  if (!begins_like_zip(head) && path.extension() != ".npz") return std::nullopt;
  const NpzArchive file(path);
  const std::vector<std::string> names = file.names();
  if (names.empty() && path.extension() != ".npz") return std::nullopt;
  if (names.empty()) read_npy(path);  // throws that there is no array
  std::vector<std::string> hints;
  if (path.extension() != ".npz")
    return FileInspection{path.string(),
                          Source::kNpy,
                          ArchiveInspection{},
                          {"the archive has .npy files: give it a name that ends in .npz"},
                          {}};
  ArchiveInspection archive = inspect_arrays(file, names, UnpackingBudget(path), hints);
  ArchiveYaml of_arrays(path, archive);
  std::vector<std::string> yaml = of_arrays.lines();
  if (of_arrays.byte_maximum() > 0) hints.push_back(hint_on_bytes(of_arrays.byte_maximum()));
  if (yaml.empty() && archive.arrays.size() == names.size())
    hints.push_back(
        fmt::format("the names do not say which arrays are inputs and which are targets: name them in train_inputs and "
                    "train_targets, such as train_inputs: {}",
                    yaml_text(path.filename().string() + ":" + archive.arrays[0].name)));
  return FileInspection{path.string(), Source::kNpy, std::move(archive), std::move(hints), std::move(yaml)};
}

}  // namespace rnnlab
