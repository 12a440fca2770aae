// SPDX-License-Identifier: Apache-2.0
// A backend with times that a test sets. It records its calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runs/bench/backend.h"

namespace rnnlab::testing {

class FakeBackend : public BenchBackend {
 public:
  std::map<LayerKind, std::array<double, 3>> seconds;  // of one iteration, by pass
  std::map<LayerKind, std::string> refused;            // refused with this message
  std::map<LayerKind, std::string> broken;             // throws this message when it runs
  std::string unavailable;                             // begin() throws this message as a device error
  std::string ceiling_error;
  std::string inspection_error;
  size_t num_begins = SIZE_MAX;  // the next begin() runs out of memory
  std::vector<Warning> warnings_to_report;
  std::vector<std::string> log;  // "begin cpu eager ...", "run naive 0", "ceiling", "inspect naive"

  void begin(const BenchCase& combination) override;
  std::string device() const override { return "cpu"; }
  std::unique_ptr<LayerRunner> make_runner(LayerChoice layer) override;
  Ceiling measure_ceiling() override;
  void begin_sampling() override {}
  SamplingRecord end_sampling() override {
    return {.wall_seconds = 2, .cpu_seconds = 1.5, .warnings = warnings_to_report};
  }
  LayerInspection inspect(LayerChoice layer) override;

 private:
  BenchCase combination_;
};

}  // namespace rnnlab::testing
