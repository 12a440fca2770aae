// SPDX-License-Identifier: Apache-2.0
// Generates text with a language model, one token at a time. Each token is passed to the model with the state after the
// previous token, so the time is proportional to the length.
#pragma once

#include <cstdint>
#include <string>

#include "runs/use/stream_state.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

struct TextRequest {
  std::string prompt;        // at least one token, unless a text goes on
  int64_t length = 200;      // tokens to add
  double temperature = 1.0;  // 0: always the most probable token; below 1 less random, above 1 more random
  uint64_t seed = 1;         // equal model, device, layer and seed give equal text
};

// Returns the text that the model adds to the prompt; it may be invalid UTF-8 if the tokens are bytes. Throws UserError
// kUsage for an empty prompt and for a prompt with a token that is not in the training text, which the message names.
std::string generate_text(const TrainedModel& trained, const TextRequest& request);

// Does the same after a text, of which `state` is the state, and then becomes that of the text with what was added. The
// random numbers begin with the seed in each call.
std::string continue_text(const TrainedModel& trained, const TextRequest& request, StreamState& state);

}  // namespace rnnlab
