// The version of the files that this program writes: summary.json, environment.json, epochs.jsonl, checkpoints, sweeps
// and benchmarks share one count. Every file of version 1 or 2 can still be read, and so will those of this version be:
// a new field names the version that brought it (json_fields.h), and a kind of file that changes otherwise gets a
// reader of its own for what came before. tests/stored has files of each version.
#pragma once

#include <cstdint>

namespace rnnlab {

inline constexpr int64_t kFileVersion = 3;

// In the place of the version that brought a field: a text or an optional that only some files have (json_fields.h).
inline constexpr int64_t kWhereGiven = -1;

}  // namespace rnnlab
