// Text from a language model, a token at a time: each goes in with the state that the one before left, so the time is
// proportional to the length.
#pragma once

#include <cstdint>
#include <string>

#include "inference/trained_model.h"

namespace rnnlab {

struct TextRequest {
  std::string prompt;        // at least one token
  int64_t length = 200;      // tokens to add
  double temperature = 1.0;  // 0: always the most probable token; below 1 bolder, above 1 more random
  uint64_t seed = 1;         // the same model, device, layer and seed give the same text
};

// What the model adds to the prompt; with tokens that are bytes not always UTF-8. UserError kUsage for a prompt that is
// empty, or has what training never saw, named.
std::string generate_text(const TrainedModel& trained, const TextRequest& request);

}  // namespace rnnlab
