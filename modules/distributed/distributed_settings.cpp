#include "distributed/distributed_settings.h"

namespace rnnlab {
namespace {

config::Schema<DistributedSettings> make_distributed_schema() {
  using Settings = DistributedSettings;
  constexpr double kShortest = 1, kLongest = 86'400;
  config::Schema<Settings> s("How processes that train one run wait for each other");
  s.field("timeout", &Settings::timeout,
          "time without an answer of another process, in a step, after which the run ends")
      .unit("seconds")
      .at_least(kShortest)
      .at_most(kLongest);
  s.field("start_timeout", &Settings::start_timeout,
          "time without an answer of another process, at the start, after which the run ends")
      .unit("seconds")
      .at_least(kShortest)
      .at_most(kLongest);
  return s;
}

}  // namespace

const config::Schema<DistributedSettings>& DistributedSettings::schema() {
  static const config::Schema<DistributedSettings> schema = make_distributed_schema();
  return schema;
}

}  // namespace rnnlab
