#include "data/dataset.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/sha256.h"

namespace rnnlab {

int64_t Samples::bytes() const {
  int64_t total = 0;
  for (const at::Tensor& tensor : {inputs, targets, lengths}) {
    if (tensor.defined()) total += static_cast<int64_t>(tensor.nbytes());
  }
  return total;
}

bool Samples::has_target_per_step() const { return targets.dim() == 2 && targets.scalar_type() == at::kLong; }

namespace {

void add(Sha256& digest, std::string_view name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    digest.update(fmt::format("{} none\n", name));
    return;
  }
  RNNLAB_INVARIANT(tensor.is_contiguous() && tensor.is_cpu(), "samples lie contiguous on the CPU");
  std::string header = fmt::format("{} {}", name, c10::toString(tensor.scalar_type()));
  for (const int64_t size : tensor.sizes()) header += fmt::format(" {}", size);
  digest.update(header + "\n");
  digest.update(std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
}

}  // namespace

std::string fingerprint(const Samples& train, const Samples& valid) {
  Sha256 digest;
  add(digest, "train.inputs", train.inputs);
  add(digest, "train.targets", train.targets);
  add(digest, "train.lengths", train.lengths);
  add(digest, "valid.inputs", valid.inputs);
  add(digest, "valid.targets", valid.targets);
  add(digest, "valid.lengths", valid.lengths);
  return digest.hex();
}

}  // namespace rnnlab
