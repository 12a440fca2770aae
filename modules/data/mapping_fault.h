// SPDX-License-Identifier: Apache-2.0
// What happens if a page of a mapped file cannot be read, because the file was cut off or its disk fails. The system
// then sends SIGBUS, which would end the process without a word. While a MappingFault lives, the process writes its
// message to standard error and exits with ExitCode::kData. Results are not written, and destructors do not run.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rnnlab {

class MappingFault {
 public:
  // Messages longer than 1,024 bytes are cut. If 64 objects live already, a fault of this mapping has no message.
  MappingFault(std::span<const std::byte> mapping, std::string_view message);
  ~MappingFault();
  MappingFault(const MappingFault&) = delete;
  MappingFault& operator=(const MappingFault&) = delete;

 private:
  size_t slot_ = 0;
};

}  // namespace rnnlab
