// SPDX-License-Identifier: Apache-2.0
// Makes one gzip member by zlib.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

#include "fuzz/fuzz_support.h"

namespace rnnlab::testing {

inline std::string gzip_of(std::string_view bytes) {
  constexpr int kGzipWindowBits = 15 + 16;
  z_stream deflater{};
  require(deflateInit2(&deflater, Z_BEST_SPEED, Z_DEFLATED, kGzipWindowBits, 1, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&deflater, bytes.size()), '\0');
  deflater.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  deflater.avail_in = static_cast<uInt>(bytes.size());
  deflater.next_out = reinterpret_cast<Bytef*>(packed.data());
  deflater.avail_out = static_cast<uInt>(packed.size());
  require(deflate(&deflater, Z_FINISH) == Z_STREAM_END);
  packed.resize(deflater.total_out);
  deflateEnd(&deflater);
  return packed;
}

}  // namespace rnnlab::testing
