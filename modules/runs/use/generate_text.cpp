// SPDX-License-Identifier: Apache-2.0
#include "runs/use/generate_text.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

size_t token_length(std::string_view text, TextUnit unit) {
  if (unit == TextUnit::kByte) return 1;
  return std::max<size_t>(utf8_sequence_length(text), 1);  // a byte that is not UTF-8 is not in a vocabulary
}

std::vector<int64_t> tokens_of(const std::string& prompt, const TrainedModel& trained) {
  std::map<std::string_view, int64_t> numbers;
  for (const std::string& token : trained.data.vocabulary) numbers.emplace(token, static_cast<int64_t>(numbers.size()));
  std::vector<int64_t> tokens;
  const std::string_view text = prompt;
  for (size_t at = 0; at < text.size();) {
    const std::string_view token = text.substr(at, token_length(text.substr(at), trained.experiment.data.tokens));
    const auto number = numbers.find(token);
    if (number == numbers.end())
      throw_error(ExitCode::kUsage, "--prompt: byte {}: {} is not among the {} different tokens of the training text",
                  at, in_quotes(token), numbers.size());
    tokens.push_back(number->second);
    at += token.size();
  }
  return tokens;
}

// Reads the tokens of one text, one after the other.
class Reader {
 public:
  Reader(const TrainedModel& trained, SeriesState& text)
      : model_(*trained.model), device_(trained.device), precision_(trained.experiment.precision), text_(text) {}

  // Returns the logits of the token after `tokens`, on the CPU: (vocabulary) float32.
  at::Tensor read(std::span<const int64_t> tokens) {
    at::Tensor input = at::empty({static_cast<int64_t>(tokens.size()), 1}, at::kLong);
    std::ranges::copy(tokens, input.mutable_data_ptr<int64_t>());
    const AutocastGuard autocast(precision_, device_);
    const Continuation next = model_.continue_from(text_.state, input.to(device_));
    text_.state = own_copy(next.state);
    text_.num_steps += std::ssize(tokens);
    return next.outputs[-1][0].to(at::kCPU, at::kFloat).contiguous();
  }

 private:
  Model& model_;
  c10::Device device_;
  Precision precision_;
  SeriesState& text_;
};

// Returns a number from 0 to 1, without 1.
double uniform(SplitMix64& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

int64_t sample(const at::Tensor& logits, double temperature, SplitMix64& random) {
  const std::span<const float> scores(logits.const_data_ptr<float>(), static_cast<size_t>(logits.numel()));
  const auto best = std::ranges::max_element(scores);
  if (temperature == 0) return best - scores.begin();
  std::vector<double> weights;
  double sum = 0;
  for (const float score : scores) {
    weights.push_back(std::exp((static_cast<double>(score) - static_cast<double>(*best)) / temperature));
    sum += weights.back();
  }
  double left = uniform(random) * sum;
  for (size_t token = 0; token < weights.size(); ++token) {
    left -= weights[token];
    if (left < 0) return static_cast<int64_t>(token);
  }
  return best - scores.begin();  // The sum may be exhausted by rounding.
}

}  // namespace

std::string continue_text(const TrainedModel& trained, const TextRequest& request, StreamState& state) {
  const at::NoGradGuard no_grad;
  std::vector<int64_t> tokens = tokens_of(request.prompt, trained);
  tokens.insert(tokens.begin(), state.tokens.begin(), state.tokens.end());
  if (tokens.empty()) throw_error(ExitCode::kUsage, "--prompt: got an empty text, expected at least one character");
  if (request.length == 0) {  // The model reads nothing, so there is no state of it yet.
    state.tokens = std::move(tokens);
    return "";
  }
  Reader reader(trained, state.series[""]);
  SplitMix64 random(request.seed);
  std::string text;
  for (int64_t i = 0; i < request.length; ++i) {
    const int64_t next = sample(reader.read(tokens), request.temperature, random);
    text += trained.data.vocabulary.at(static_cast<size_t>(next));
    tokens = {next};
  }
  state.tokens = std::move(tokens);
  return text;
}

std::string generate_text(const TrainedModel& trained, const TextRequest& request) {
  StreamState state;
  return continue_text(trained, request, state);
}

}  // namespace rnnlab
