#include "training/epoch_metrics.h"

namespace rnnlab {

void put_training_metrics(const Metrics& metrics, EpochRow& row) {
  row.train_loss = metrics.loss;
  row.train_accuracy = metrics.accuracy;
  row.train_perplexity = metrics.perplexity;
  row.train_mae = metrics.mean_absolute_error;
  row.train_rmse = metrics.root_mean_squared_error;
}

void put_validation_metrics(const Metrics& metrics, EpochRow& row) {
  row.valid_loss = metrics.loss;
  row.valid_accuracy = metrics.accuracy;
  row.valid_perplexity = metrics.perplexity;
  row.valid_bits_per_character = metrics.bits_per_token;
  row.valid_mae = metrics.mean_absolute_error;
  row.valid_rmse = metrics.root_mean_squared_error;
}

}  // namespace rnnlab
