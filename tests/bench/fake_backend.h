// A backend whose layers take the time that a test writes down, and that keeps a record of what was asked of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/backend.h"

namespace rnnlab::testing {

class FakeBackend : public BenchBackend {
 public:
  std::map<LayerKind, std::array<double, 3>> seconds;  // of one iteration, by program
  std::map<LayerKind, std::string> refused;            // with this message
  std::map<LayerKind, std::string> broken;             // throws it when it runs
  std::string unavailable;                             // begin() throws it, as a device error
  std::string ceiling_error;
  std::string inspection_error;
  size_t num_begins = SIZE_MAX;  // the next one is out of memory
  std::vector<Warning> doubts_to_tell;
  std::vector<std::string> log;  // "begin cpu eager ...", "run naive 0", "ceiling", "inspect naive"

  void begin(const BenchCase& combination) override;
  std::string device() const override { return "cpu"; }
  std::unique_ptr<LayerRunner> make_runner(LayerKind layer) override;
  Ceiling measure_ceiling() override;
  void begin_sampling() override {}
  SamplingRecord end_sampling() override { return {.wall_seconds = 2, .cpu_seconds = 1.5, .doubts = doubts_to_tell}; }
  Inspection inspect(LayerKind layer) override;

 private:
  BenchCase combination_;
};

}  // namespace rnnlab::testing
