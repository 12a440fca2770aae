#include "experiment/checkpoint_settings.h"

namespace rnnlab {
namespace {

using config::kMostCounted;

config::Schema<CheckpointSettings> make_checkpoint_schema() {
  using Settings = CheckpointSettings;
  config::Schema<Settings> s("When a run's state is saved");
  s.field("save", &Settings::save, "false: never, so the run cannot be resumed or used afterwards");
  s.field("every_epochs", &Settings::every_epochs, "at the end of each so many; 0: at the end of the run only")
      .unit("epochs")
      .at_least(0)
      .at_most(kMostCounted);
  s.field("every_seconds", &Settings::every_seconds,
          "at least so long between two at ends of epochs, so that saving does not weigh on short ones")
      .unit("seconds")
      .at_least(0.0)
      .at_most(kMostCounted);
  s.field("every_steps", &Settings::every_steps, "also within epochs; the copy falls into the epoch's time")
      .unit("steps")
      .at_least(1)
      .at_most(kMostCounted);
  s.field("best", &Settings::best,
          "also the epoch of the best value that early_stopping watches, else of the least loss");
  s.field("keep", &Settings::keep, "the newest so many; the best and one older that verifies stay too")
      .at_least(1)
      .at_most(kMostCounted);
  return s;
}

}  // namespace

const config::Schema<CheckpointSettings>& CheckpointSettings::schema() {
  static const config::Schema<CheckpointSettings> schema = make_checkpoint_schema();
  return schema;
}

}  // namespace rnnlab
