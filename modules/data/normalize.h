// Scaling of inputs (N, T, F), in place. Steps beyond a sample's length are neither looked at nor touched. Targets are
// not scaled here: load_csv.cpp does that column by column.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// scaled = (value - offset) / scale. A constant has scale 1, so that it becomes 0 and not NaN.
struct Scaling {
  double offset = 0;
  double scale = 1;
};

Scaling fit_standard(std::span<const double> values);  // mean and standard deviation (of the population)
Scaling fit_minmax(std::span<const double> values);    // onto 0 to 1

struct Normalized {
  std::string note;               // a sentence that says what was done, "" for kNone
  std::vector<Scaling> features;  // what was fitted, one a feature; empty where nothing is
};

// Scales both parts; kStandard and kMinMax are fitted to each feature of the training part. Not kAutomatic.
Normalized normalize(Samples& train, Samples& valid, Normalization how);

// Scales further samples as `features` and `how` once did.
void normalize_as(Samples& samples, Normalization how, const std::vector<Scaling>& features);

}  // namespace rnnlab
