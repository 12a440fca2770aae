// SPDX-License-Identifier: Apache-2.0
// Lets the ranks of a launch believe only each other. Everybody who can connect to a TCPStore can list its keys and
// change their values. A SignedStore appends HMAC-SHA256 (RFC 2104) of key and value under the launch's secret to each
// value, and a value without a valid signature does not exist for its reader.
//
// Left out: encryption, and replay. Who can read the store can read the values, and put an older value of a key back.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace rnnlab {

// Returns HMAC-SHA256 as 64 lower-case hexadecimal digits.
std::string hmac_sha256(std::string_view secret, std::string_view text);

// Throws c10::Error from get() if the value is not signed.
c10::intrusive_ptr<c10d::Store> sign_values(const c10::intrusive_ptr<c10d::Store>& store, const std::string& secret);

}  // namespace rnnlab
