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

// An archive that is opened once for all of its arrays, because opening it reads the names of all.
class NpzArchive {
 public:
  // Throws UserError kData if the file is not a zip archive, or if it is damaged.
  explicit NpzArchive(const std::filesystem::path& file);

  // Returns the names of the arrays, in the order of the archive: those of the members that end in .npy, without the
  // ending.
  std::vector<std::string> names() const;

  // Opens an array; without a name the archive must hold exactly one. most_bytes() is limited by the packed size,
  // whatever size the archive claims. A read at the end of the member verifies its checksum. The stream may outlive
  // this object. Throws UserError kData, with the names of the arrays if there is no such one.
  std::unique_ptr<ByteStream> open(const std::string& name) const;

 private:
  class File;
  class MemberStream;
  std::shared_ptr<const File> file_;
};

}  // namespace rnnlab
