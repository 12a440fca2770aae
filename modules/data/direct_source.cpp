#include "data/batch_sources.h"
#include "data/gather.h"

namespace rnnlab {
namespace {

class DirectSource : public BatchSource {
 public:
  explicit DirectSource(const Samples& samples) : samples_(samples) {}
  void start(const EpochPlan& plan) override { plan_ = plan; }
  Batch fetch(int64_t batch) override { return gather_batch(samples_, plan_.samples(batch)); }

 private:
  Samples samples_;
  EpochPlan plan_;
};

}  // namespace

std::unique_ptr<BatchSource> make_direct_source(const Samples& samples) {
  return std::make_unique<DirectSource>(samples);
}

}  // namespace rnnlab
