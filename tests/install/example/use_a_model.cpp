// SPDX-License-Identifier: Apache-2.0
// Predicts the rows of a CSV file with a trained model, in a program of its own: the file of `rnnlab convert --whole`,
// a run's folder or a checkpoint.
#include <cstdio>
#include <exception>

#include "runs/use/predict.h"
#include "runs/use/prediction_files.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: use_a_model MODEL.safetensors NEW.csv\n"), 2;
  try {
    const std::string data = argv[2];
    const rnnlab::TrainedModel model = rnnlab::load_trained_model(
        {.run = argv[1], .checkpoint = "", .overrides = {"device=cpu", "data.path=" + data}});
    const rnnlab::InferenceData rows = rnnlab::load_data(model, rnnlab::Targets::kIfPresent);
    const rnnlab::Predictions predictions = rnnlab::predict(model, rows.samples);
    std::printf("%s", rnnlab::prediction_csv(predictions, rows.rows).c_str());  // predictions.values are the numbers
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
