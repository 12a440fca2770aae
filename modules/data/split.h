// SPDX-License-Identifier: Apache-2.0
// Splits the samples of a file into training, validation and test if a part has no file of its own. The functions work
// on numbers of rows, and are pure functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/enum_names.h"

namespace rnnlab {

enum class Split { kAutomatic, kRandom, kOrdered };

struct SplitRequest {
  Split how = Split::kOrdered;       // not kAutomatic
  std::optional<int64_t> num_valid;  // 0: no validation
  double valid_fraction = 0.1;       // of the rows that are not for the test part; used if num_valid is not set
  int64_t seed = 1;                  // of a random split
  int64_t num_test = 0;
  double test_fraction = 0;    // of all rows; used if num_test is 0
  bool is_stratified = false;  // whether a random split looks at classes

  // Of a back-test. The folds of an ordered split have rolling origins: the validation parts are the last blocks of the
  // rows, one after the other, and a fold trains on the rows before its block. In random folds each row validates once.
  int64_t num_folds = 0;             // 0: none
  int64_t fold = 0;                  // which of them, from 1
  int64_t least_train = 1;           // rows that training needs in an ordered fold
  std::string_view unit = "sample";  // what a row is called in messages about folds
};

struct RowSplit {
  std::vector<int64_t> train;  // ascending for an ordered split, permuted for a random split
  std::vector<int64_t> valid;
  std::vector<int64_t> test = {};
};

// The test part gets the last rows (kOrdered), or the last rows of the permutation of the seed (kRandom). Of the other
// rows, validation gets the last ones: not all of them, and at least one unless num_valid is 0. A stratified random
// split takes the last rows of each class in this way: `classes` has the class of each row, -1 is a class like the
// others, and empty `classes` make no difference. Then a part has the shares that the classes have in the file, as
// nearly as whole rows allow, and each class keeps a row for training if the other classes have enough for the parts.
// With num_folds the parts are those of one fold, and
// the rows of the test part are in none. Throws UserError kData for too few rows; `origin` is the name of the data.
RowSplit split_rows(int64_t num_all, const SplitRequest& request, const std::string& origin,
                    std::span<const int64_t> classes = {});

// Return how many rows of `num_all` the test part gets, and how many of the others, at least 2, validation gets.
int64_t num_for_test(int64_t num_all, const SplitRequest& request);
int64_t num_for_validation(int64_t num_others, const SplitRequest& request);

// The rows that validate in a fold of an ordered split.
struct FoldBlock {
  int64_t begin = 0;  // the rows before it train; negative if the rows are too few
  int64_t size = 0;
};

// `num_others` are the rows that are not for the test part.
FoldBlock fold_block(int64_t num_others, const SplitRequest& request);

// Returns how many of these rows the ordered folds need, so that the first one can train.
int64_t rows_for_folds(int64_t num_others, const SplitRequest& request);

// Returns what a user can do if rows are too few for the folds.
std::string how_to_fit_folds(const SplitRequest& request);

// Returns the class of a binary target: 1 from 0.5 on, and -1 if it is missing (NaN).
int64_t class_of_binary(double target);

// How many samples of each class a part has.
struct ClassCounts {
  std::string part;  // "training"
  std::vector<int64_t> counts;
};

ClassCounts count_classes(std::string part, std::span<const int64_t> classes, int64_t num_classes);

// Returns the sentence that has these counts: of each class if there are few classes, else their range in each part.
// `names` may be empty if classes are numbers.
std::string text_of(const std::vector<ClassCounts>& parts, const std::vector<std::string>& names);

// Returns a sentence for each part with samples that lacks a class. The first part is that of training.
std::vector<std::string> notes_on_lacking_classes(const std::vector<ClassCounts>& parts,
                                                  const std::vector<std::string>& names);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Split> {
  static constexpr std::array<std::pair<rnnlab::Split, std::string_view>, 3> kNames = {
      {{rnnlab::Split::kAutomatic, "auto"}, {rnnlab::Split::kRandom, "random"}, {rnnlab::Split::kOrdered, "ordered"}}};
};
