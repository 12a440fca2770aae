// SPDX-License-Identifier: Apache-2.0
// What a trained model keeps of growing series, or of a text, between two calls: the states of its recurrent layers and
// what the next row needs of the rows before it. The file is a safetensors file that names the weights by their
// SHA-256 and has a digest of its own, so that the state of another model and a damaged file are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/step_reader.h"
#include "layers/recurrent_layer.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

struct SeriesState {
  RecurrentState state;  // after the last step, on the device of the model; (L, 1, H) each
  SeriesPast past = {};
  int64_t num_steps = 0;  // so far
};

struct StreamState {
  std::map<std::string, SeriesState> series;  // by name; "" if there is only one
  std::vector<int64_t> tokens = {};           // of a text, those at its end that the model has not read yet
};

// Returns the state in memory of its own, because that of a layer may be views of the data of a pass.
RecurrentState own_copy(const RecurrentState& state);

// Writes the file as write_output_file does: a reader gets the old state or the new one. The state of nothing is not
// written. Throws UserError kUsage and kDevice.
void write_stream_state(const std::filesystem::path& file, const StreamState& state, const TrainedModel& trained);

// Throws UserError kCheckpoint if the file is damaged, is not such a file, has the state of other weights, or has
// numbers that no rows lead to.
StreamState read_stream_state(const std::filesystem::path& file, const TrainedModel& trained);

// Returns the state in the file, or that of nothing if there is no such file.
StreamState stream_state_in(const std::filesystem::path& file, const TrainedModel& trained);

}  // namespace rnnlab
