#include "recurrent/kernels/persistent/persistent_lstm.h"

#include "recurrent/kernels/persistent/sizes.h"

namespace rnnlab::kernels {
namespace persistent {

RNNLAB_PERSISTENT_OF(extern, float);
RNNLAB_PERSISTENT_OF(extern, __half);
RNNLAB_PERSISTENT_OF(extern, __nv_bfloat16);

// Calls `use` with a number of the type.
template <class Use>
void with_value(ElementType type, const Use& use) {
  switch (type) {
    case ElementType::kFloat32:
      return use(float());
    case ElementType::kFloat16:
      return use(__half());
    case ElementType::kBfloat16:
      return use(__nv_bfloat16());
    case ElementType::kFloat64:
      throw std::invalid_argument("no persistent kernel for float64");
  }
}

}  // namespace persistent

bool has_persistent_lstm(int64_t hidden_size) {
  return hidden_size >= 128 && hidden_size <= 1024 && hidden_size % 128 == 0;
}

size_t packed_weight_bytes(int64_t hidden_size) { return static_cast<size_t>(4 * hidden_size * hidden_size * 2); }

void pack_forward_weights(const PersistentSequence& sequence, const void* weight_hh, void* packed,
                          cudaStream_t stream) {
  persistent::with_value(sequence.type, [&]<class Value>(Value) {
    persistent::pack_forward_as<Value>(sequence.hidden_size, weight_hh, packed, stream);
  });
}

void pack_backward_weights(const PersistentSequence& sequence, const void* weight_hh, void* packed,
                           cudaStream_t stream) {
  persistent::with_value(sequence.type, [&]<class Value>(Value) {
    persistent::pack_backward_as<Value>(sequence.hidden_size, weight_hh, packed, stream);
  });
}

void run(const PersistentForward& work, cudaStream_t stream) {
  persistent::with_value(work.sequence.type, [&]<class Value>(Value) { persistent::run_as<Value>(work, stream); });
}

void run(const PersistentBackward& work, cudaStream_t stream) {
  persistent::with_value(work.sequence.type, [&]<class Value>(Value) { persistent::run_as<Value>(work, stream); });
}

}  // namespace rnnlab::kernels
