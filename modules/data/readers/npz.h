// SPDX-License-Identifier: Apache-2.0
// The arrays of a .npz file, which is a zip archive of .npy files (numpy.savez, numpy.savez_compressed). A path such as
// data.npz:x_train names the array x_train in the archive data.npz. The archive is read by libzip: stored and deflated
// members, also of more than 4 GiB (zip64), with their checksums. Encrypted members and other compressions are refused.
// The format of the arrays is that of read_npy (array.h). Nothing is unpacked to the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/byte_stream.h"

namespace rnnlab {

// The path of an array: of a plain file, or of an array in an archive.
struct ArrayPath {
  std::filesystem::path file;  // what lies on the disk
  std::string array;           // "" if the path names no array
};

// Splits after the first ".npz:"; a path without it is the file itself. Reads nothing.
ArrayPath split_array_path(const std::filesystem::path& path);

// Returns whether the beginning of a file is that of a zip archive.
bool begins_like_zip(std::string_view head);

// Returns the names of the arrays, in the order of the archive: those of the members that end in .npy, without the
// ending. Throws UserError kData if the file is not a zip archive, or if it is damaged.
std::vector<std::string> npz_names(const std::filesystem::path& file);

// Opens an array of an archive; without a name the archive must hold exactly one. most_bytes() is limited by the packed
// size, whatever size the archive claims. A read at the end of the member verifies its checksum. Throws UserError
// kData, with the names of the arrays if there is no such one.
std::unique_ptr<ByteStream> open_npz(const ArrayPath& path);

}  // namespace rnnlab
