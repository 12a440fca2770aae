// A run as a snapshot, and a trainer that goes on from one.
#include "base/error.h"
#include "training/divergence.h"
#include "training/trainer.h"

namespace rnnlab {

Snapshot Trainer::snapshot() {
  RNNLAB_INVARIANT(steps_untold_ == 0, "a snapshot at a step that the observer does not look at");
  read_record();
  const auto optimizer_state = step_.state();
  require_finite(state_.epoch, state_.step, optimizer().parameters(), optimizer_state);
  RunProgress progress{.state = state_,
                       .epoch_is_over = epoch_is_over_,
                       .tally = tally_,
                       .last_loss = last_loss_,
                       .seconds = run_seconds()};
  progress.state.stop_reason.reset();
  progress.state.stop_text.clear();
  progress.state.exit_code = ExitCode::kDone;
  progress.tally.seconds = epoch_seconds();
  if (training_since_) progress.tally.data_seconds += train_batches_.seconds_waited();
  return {.progress = std::move(progress),
          .model = copied_to_host(optimizer().parameters()),
          .optimizer = copied_to_host(optimizer_state),
          .generators = generator_states(options_.device)};
}

void Trainer::restore(Snapshot snapshot) {
  RNNLAB_INVARIANT(state_.epoch == 0, "restored into a run that has begun");
  copy_tensors(snapshot.model, optimizer().parameters());
  copy_tensors(snapshot.optimizer, step_.state());
  state_ = snapshot.progress.state;
  tally_ = snapshot.progress.tally;
  epoch_is_over_ = snapshot.progress.epoch_is_over;
  last_loss_ = snapshot.progress.last_loss;
  seconds_before_ = snapshot.progress.seconds;
  first_epoch_ = epoch_is_over_ ? state_.epoch + 1 : state_.epoch;
  restored_ = std::move(snapshot.generators);
  stop_where_done();
  // All ranks read the same number from the checkpoint, whatever their clocks say.
  const auto& most_seconds = options_.settings.max_seconds;
  if (has_ranks() && !state_.stopped() && most_seconds && seconds_before_ >= *most_seconds) stop_at_seconds();
}

}  // namespace rnnlab
