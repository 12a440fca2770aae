// SPDX-License-Identifier: Apache-2.0
// Loads a Dataset from settings, for all sources. The result is checked, split, cut and scaled, and lies on the CPU.
// Mapped inputs are checked where the result uses them: an unused sample may hold NaN or Inf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/source.h"

namespace rnnlab {

// Throws UserError kData for missing, damaged or inconsistent files; kDiverged for NaN or Inf in binary files.
Dataset load_dataset(const DataSettings& settings);

struct InferenceData {
  Samples samples;
  std::string description;                          // one line, without the folder of the data
  std::vector<std::string> notes;                   // sentences about changes to the data while loading
  FileRows rows = {};                               // only with Targets::kIfPresent
  std::vector<NaiveForecast> naive_forecasts = {};  // of a series' targets; empty for kAll with kIfPresent
  std::vector<double> naive_errors = {};            // of kTrain: Dataset::naive_errors
};

// Throws UserError as load_dataset, and kData if the data do not fit the model (different features, or a class or token
// that is not in the training data, which the message names) or if there are no samples. Throws kUsage for kAll of
// generated data and of mnist, because they have fixed parts.
InferenceData load_for_inference(const DataSettings& settings, const FittedData& fitted, DataPart part,
                                 Targets targets);

// Validates `data` from a checkpoint against these settings. Returns a description of the first contradiction, or "".
std::string fault_of(const FittedData& data, const DataSettings& settings);

// The functions below are for the loaders of sources whose samples are in files.

// Returns "training ", "validation " or "test ", and "" for all data.
std::string part_name(DataPart part);

// Gives the samples of the training file to the parts: validation gets those of its own file if `valid` has them.
// `classes` has the class of each sample, for a stratified split; it is empty if the samples have no classes. Messages
// name `file`.
void split_samples(Loaded& loaded, const Samples& all, const std::optional<Samples>& valid,
                   const std::vector<int64_t>& classes, const DataSettings& settings, const std::string& file);

// Returns the samples of the part in its file, which has so many: all of them if the file is that of the part alone.
std::vector<int64_t> samples_of_part(DataPart part, int64_t num_all, const std::vector<int64_t>& classes,
                                     const DataSettings& settings, const std::string& file);

// The functions below return lower bounds of the size of data, computed before loading and compared with the memory
// limits.

// Returns the bytes that loading the data keeps in memory at the same time: all samples of generated data, or the
// largest of the files. A packed file counts with its packed size, a missing file as 0, because loading reports it.
// Mapped inputs do not count.
int64_t least_data_bytes(const DataSettings& settings);

// Returns whether the data can be loaded with data.memory: mapped and then need less memory than with these settings.
bool mapping_saves_memory(const DataSettings& settings);

// Returns whether rnnlab generates the data itself: then the settings determine their size, without files.
bool is_generated(const DataSettings& settings);

// Throws InvariantError if the data are not generated.
GeneratedCounts generated_counts(const DataSettings& settings);

// Returns the shape of generated data. For files it returns the sizes that the settings state, and 1 for sizes that
// only the file states.
DataShape least_shape(const DataSettings& settings);

}  // namespace rnnlab
