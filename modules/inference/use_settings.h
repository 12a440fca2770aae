// What may be said anew of a trained model when it is used: how it is computed and on what data, never what it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/load_for_inference.h"
#include "experiment/experiment.h"

namespace rnnlab {

struct UseSettings {
  Experiment experiment;
  DataPart part = DataPart::kValid;
  std::vector<std::string> notes;  // what is otherwise than in training, for this machine's sake
};

// `trained` with `overrides` ("device=cpu") laid over it. Where they leave it open, a device that this machine lacks
// becomes the CPU, a layer that is not for the device fused (hoisted, where fused cannot compute the model), and a
// precision that it has not fp32, with a note. Where no part is named, it is all of data that are others than in
// training, or else the validation part. UserError kUsage for a key that belongs to what was trained, or that the part
// leaves without a meaning, and for values that cannot be.
UseSettings use_settings(const Experiment& trained, const std::vector<std::string>& overrides,
                         std::optional<DataPart> part = std::nullopt);

}  // namespace rnnlab
