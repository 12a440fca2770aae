// SPDX-License-Identifier: Apache-2.0
// A store of a run of two ranks, for tests of what a process believes of what it reads there: only what a rank may say.
// The launch has no secret, so that everybody may write.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "train/ranks/local_store.h"
#include "train/ranks/store.h"

namespace rnnlab {

class StoreOfTwo : public ::testing::Test {
 protected:
  StorePointer open() const {
    Launch launch;
    launch.size = 2;
    launch.address = "127.0.0.1";
    launch.port = server_.port();
    launch.launcher_hosts_store = true;
    return open_store(launch, {.name_of_run = "test", .timeout = std::chrono::seconds(5)});
  }
  void write(const std::string& key, const std::string& text) const { put_text(*store_, key, text); }

  const LocalStore server_;
  const StorePointer store_ = open();
};

}  // namespace rnnlab
