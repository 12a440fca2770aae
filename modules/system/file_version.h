// The version of the files that this program writes: summary.json, environment.json, epochs.jsonl, checkpoints, sweeps
// and benchmarks share one number. Files of versions 1 and 2 can still be read, and files of this version will be. A
// new field names the version that introduced it (json_fields.h); a kind of file that changes in a different way gets a
// separate reader for its older versions. The folder tests/stored has files of each version.
#pragma once

#include <cstdint>

namespace rnnlab {

inline constexpr int64_t kFileVersion = 3;

// Stands for the version of a field that only some files have: a text or an optional (json_fields.h).
inline constexpr int64_t kWhereGiven = -1;

}  // namespace rnnlab
