// One checkpoint: a folder of model.safetensors, optimizer.safetensors, state.json and manifest.json, which holds the
// size and SHA-256 of the others and seals itself: a changed bit or missing byte in any of them is noticed and named.
// It appears whole, by one rename of a temporary folder after every file was synced, or not at all.
// What the state says is the caller's; checkpoint_folder.h has several checkpoints side by side.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"

namespace rnnlab {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kManifestFile = "manifest.json";

// To be saved.
struct CheckpointContents {
  std::vector<TensorView> model;
  std::vector<TensorView> optimizer;
  nlohmann::ordered_json state;       // at most 64 MiB of text; numbers in it are finite, strings UTF-8
  std::shared_ptr<const void> owner;  // keeps the bytes of the tensors alive; null where something else does
};

// As it was saved, in memory of its own.
struct Checkpoint {
  int64_t step = 0;
  TensorFile model;
  TensorFile optimizer;
  nlohmann::ordered_json state;
};

// Writes <folder>/step-000123, durable when this returns, and returns its path. Makes `folder` (not its parents) where
// it is missing; first removes what an interrupted save left there. An earlier checkpoint of the same step is replaced
// in one go. Saves of several processes in one folder wait for one another. UserError kDevice: nothing has changed
// then, except that the new checkpoint may be there, whole, where only the last steps failed; also where `folder` is a
// link.
std::filesystem::path save_checkpoint(const std::filesystem::path& folder, int64_t step,
                                      const CheckpointContents& contents);

// Reads every file of the checkpoint in little memory. UserError kCheckpoint names the first that is not as it was
// saved.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

// The same, keeping what was read: the bytes that are parsed are those that were hashed. UserError kCheckpoint.
Checkpoint load_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace rnnlab
