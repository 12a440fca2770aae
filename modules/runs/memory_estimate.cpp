// SPDX-License-Identifier: Apache-2.0
#include "runs/memory_estimate.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <array>

#include "base/numbers.h"
#include "base/text.h"
#include "data/load_dataset.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

int64_t product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (const int64_t factor : factors) result = saturating_multiply(result, factor);
  return result;
}

int64_t sum(std::initializer_list<int64_t> terms) {
  int64_t result = 0;
  for (const int64_t term : terms) result = saturating_add(result, term);
  return result;
}

// Holds the number of steps and samples of a batch.
struct BatchSize {
  int64_t num_steps = 0;
  int64_t num_samples = 0;
};

// Returns the bytes of every layer's outputs, which the backward pass needs.
int64_t recurrent_bytes(const RecurrentOptions& options, BatchSize batch, Precision precision) {
  return product({batch.num_steps, batch.num_samples, options.num_layers, options.num_directions(), options.hidden_size,
                  element_bytes(precision)});
}

int64_t input_bytes(const DataShape& shape, BatchSize batch) {
  const bool are_tokens = shape.task == Task::kLanguageModel;
  const int64_t step_bytes = are_tokens ? int64_t{sizeof(int64_t)} : product({shape.input_size, sizeof(float)});
  return product({batch.num_steps, batch.num_samples, step_bytes});
}

int64_t logit_bytes(const DataShape& shape, BatchSize batch, Precision precision) {
  if (shape.task != Task::kLanguageModel && !shape.target_per_step) return 0;
  return product({batch.num_steps, batch.num_samples, shape.model_outputs(), element_bytes(precision)});
}

// Returns the bytes that a forward pass keeps for its backward pass. In inference only the batch and its logits count.
int64_t step_bytes(const Experiment& e, Purpose purpose, const DataSize& data) {
  const DataShape& shape = data.shape;
  const int64_t num_processes = std::max<int64_t>(1, e.devices.value_or(1));  // each has a part of a batch
  const int64_t of_training = (e.training.batch_size + num_processes - 1) / num_processes;
  const int64_t wanted = purpose == Purpose::kTraining ? of_training : e.training.valid_batch_size;
  const int64_t num_steps = shape.has_lengths ? 1 : shape.sequence_length;  // a batch may have only short sequences
  const BatchSize batch{num_steps, std::min(wanted, data.num_samples)};
  const int64_t ends = sum({input_bytes(shape, batch), logit_bytes(shape, batch, e.precision)});
  if (purpose == Purpose::kInference) return ends;
  const auto num_kept_values = info_of(e.model.kind).num_kept_values;
  const int64_t num_values = num_kept_values(e.model, shape, batch.num_steps, batch.num_samples);
  return sum({ends, product({num_values, element_bytes(e.precision)})});
}

// The number of samples in a file is not known before it is read.
int64_t least_samples(const DataSettings& data, Purpose purpose) {
  if (!is_generated(data)) return 1;
  const GeneratedCounts counts = generated_counts(data);
  return purpose == Purpose::kTraining ? counts.train : std::min(counts.train, counts.valid);
}

struct Part {
  int64_t bytes = 0;
  std::string key;
  std::string advice;
};

Part largest_part(const MemoryEstimate& e, const MemoryAdvice& advice) {
  const std::array<Part, 3> parts = {
      Part{e.data, advice.data_key, advice.data_advice},
      Part{sum({e.weights, e.gradients, e.optimizer}), advice.weights_key,
           "use fewer or smaller layers, or fewer outputs"},
      Part{e.activations, advice.activations_key, "use smaller batches or shorter sequences"}};
  return *std::ranges::max_element(parts, {}, &Part::bytes);
}

std::string subject_of(const MemoryEstimate& e, const std::string& key, const std::string& where) {
  return fmt::format("{}: this run ({}) needs{}", key, parts_text(e), where);
}

}  // namespace

int64_t MemoryEstimate::on_device(c10::Device device) const {
  const int64_t model = sum({weights, optimizer, std::max(gradients, activations)});
  const bool holds_data = device.is_cpu() || placement == Placement::kDevice;
  if (!holds_data) return model;
  return is_data_a_file ? std::max(model, device.is_cpu() ? data : 0) : sum({data, model});
}

int64_t MemoryEstimate::on_host(c10::Device device) const {
  return device.is_cpu() ? on_device(device) : std::max(data, weights);
}

MemoryEstimate estimate_memory(const Experiment& experiment, Purpose purpose) {
  const DataSettings& data = experiment.data;
  MemoryEstimate estimate =
      estimate_memory(experiment, purpose, {least_shape(data), least_data_bytes(data), least_samples(data, purpose)});
  estimate.is_data_a_file = !is_generated(data);
  return estimate;
}

DataSize size_of(const Dataset& dataset) {
  return {dataset.shape, saturating_add(dataset.train.bytes(), dataset.valid.bytes()), dataset.train.size()};
}

MemoryEstimate estimate_memory(const Experiment& experiment, Purpose purpose, const DataSize& data) {
  MemoryEstimate estimate{.data = data.bytes, .placement = experiment.data.placement};
  estimate.weights = bytes_of(parameter_specs(experiment.model, data.shape));
  estimate.activations = step_bytes(experiment, purpose, data);
  if (purpose == Purpose::kInference) return estimate;
  estimate.gradients = estimate.weights;
  estimate.optimizer =
      saturating_multiply(estimate.weights, info_of(experiment.training.optimizer).num_copies(experiment.training));
  return estimate;
}

MemoryEstimate estimate_memory(const RecurrentOptions& options, int64_t num_steps, int64_t batch_size,
                               Precision precision) {
  const BatchSize batch{num_steps, batch_size};
  MemoryEstimate estimate;
  estimate.weights = bytes_of(parameter_specs(options));
  const int64_t num_values = sum({options.input_size, product({options.num_directions(), options.hidden_size})});
  estimate.data = product({num_steps, batch_size, num_values, sizeof(float)});  // inputs, and gradients of the outputs
  estimate.activations = recurrent_bytes(options, batch, precision);
  estimate.placement = Placement::kDevice;
  return estimate;
}

std::string parts_text(const MemoryEstimate& e) {
  const auto text = [](const char* name, int64_t bytes) {
    return bytes > 0 ? fmt::format("{} {}", name, format_bytes(bytes)) : "";
  };
  std::vector<std::string> parts = {text("data", e.data), text("weights", e.weights), text("gradients", e.gradients),
                                    text("optimiser", e.optimizer), text("activations", e.activations)};
  std::erase(parts, "");
  return join(parts, ", ");
}

MemoryAdvice memory_advice(const Experiment& e, Purpose purpose) {
  const bool trains = purpose == Purpose::kTraining;
  const std::string advice = MemoryAdvice().data_advice;
  return {.data_key = is_generated(e.data) ? "data.num_train" : "data.path",
          .data_advice = mapping_saves_memory(e.data) ? advice + ", or data.memory: mapped" : advice,
          .weights_key = info_of(e.model.kind).has_recurrent_layers() ? "model.hidden_size" : "model.dense",
          .activations_key = trains ? "training.batch_size" : "training.valid_batch_size"};
}

std::vector<std::string> check_memory(const MemoryEstimate& estimate, const MemoryAdvice& advice, c10::Device device) {
  return check_memory(estimate, advice, device, memory_limits(), device_memory_limits(device));
}

std::vector<std::string> check_memory(const MemoryEstimate& estimate, const MemoryAdvice& advice, c10::Device device,
                                      const MemoryLimits& host, const MemoryLimits& gpu) {
  const Part largest = largest_part(estimate, advice);
  const std::string subject = subject_of(estimate, largest.key, "");
  const std::string subject_on_gpu = subject_of(estimate, largest.key, fmt::format(" on {}", device.str()));
  const int64_t on_host = estimate.on_host(device);
  const int64_t on_gpu = device.is_cpu() ? 0 : estimate.on_device(device);
  require_memory(on_host, subject, largest.advice, host);
  require_memory(on_gpu, subject_on_gpu, largest.advice, gpu);
  std::vector<std::string> warnings;
  for (const auto& warning : {memory_warning(on_host, subject, largest.advice, host),
                              memory_warning(on_gpu, subject_on_gpu, largest.advice, gpu)})
    if (warning) warnings.push_back(*warning);
  return warnings;
}

MemoryLimits device_memory_limits(c10::Device device) {
  if (device.is_cpu()) return {};
  const auto [free, total] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return {.hard = {{static_cast<int64_t>(total), "the GPU"}}, .available = static_cast<int64_t>(free)};
}

}  // namespace rnnlab
