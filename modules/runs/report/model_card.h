// SPDX-License-Identifier: Apache-2.0
// A model card: one page of Markdown on a trained model, for those who get it. It has what the run knows, and leaves
// out what it does not: the model, its data and their scales, the training, the results beside predictions without a
// model, how the model is used and what limits its use, and the hashes by which model and data are known again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runs/model_file.h"
#include "runs/use/part_quality.h"
#include "runs/use/trained_model.h"

namespace rnnlab::report {

// What a part of the training data is, if they are still there.
struct CardPart {
  DataPart part = DataPart::kTrain;
  int64_t num_samples = 0;
  std::string first_time = {}, last_time = {};        // of its rows, as the file writes them; "" without times
  std::optional<PartQuality> quality = std::nullopt;  // of the test part
};

struct CardParts {
  std::vector<CardPart> parts;     // those that can be read
  std::vector<std::string> notes;  // why others cannot
};

// Reads the data with which the model was trained, and evaluates the model on their test part if there is one.
CardParts read_parts(const TrainedModel& trained);

// `name` is what the commands on the card call the model: its file, or "RUN".
std::string model_card(const SavedModel& model, const std::vector<CardPart>& parts, const std::string& name);

}  // namespace rnnlab::report
