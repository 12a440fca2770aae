// An experiment's settings as far as they do without LibTorch, to read from YAML, and what is asked of every document:
// findings of one line each, or settings that print to YAML which reads back to the same, sweep included.
// Left out: the device, the precision, and the rules that look at the whole experiment.
#pragma once

#include <string>

#include "config/schema.h"
#include "data/data_settings.h"
#include "models/model_settings.h"
#include "recurrent/layer_kind.h"
#include "training/training_settings.h"

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
