// SPDX-License-Identifier: Apache-2.0
// The part of an experiment's settings that does not need LibTorch, read from YAML, and checks of every document:
// findings of one line each, or settings that print to YAML which reads back to the same settings, including a sweep.
// The device, the precision and the rules about the whole experiment are left out.
#pragma once

#include <string>

#include "base/config/schema.h"
#include "data/data_settings.h"
#include "layers/layer_kind.h"
#include "train/loop/training_settings.h"
#include "train/models/model_settings.h"

namespace rnnlab::testing {

struct Settings {
  std::string name = "experiment";
  LayerKind layer = LayerKind::kFused;
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;
  int64_t seed = 1;
  bool deterministic = false;
  DataSettings data;
  ModelSettings model;
  TrainingSettings training;

  static const config::Schema<Settings>& schema();
};

void expect_reads_back_or_findings(const config::Document& document, config::Findings findings);

}  // namespace rnnlab::testing
