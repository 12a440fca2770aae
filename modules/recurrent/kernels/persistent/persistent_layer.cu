#include "recurrent/kernels/persistent/persistent_layer.h"

#include "recurrent/kernels/persistent/cell_gru.h"
#include "recurrent/kernels/persistent/cell_lstm.h"
#include "recurrent/kernels/persistent/cell_rnn.h"
#include "recurrent/kernels/persistent/sizes.h"

namespace rnnlab::kernels {
namespace persistent {

#define RNNLAB_PERSISTENT_CELL(Cell)           \
  RNNLAB_PERSISTENT_OF(extern, Cell, Float32); \
  RNNLAB_PERSISTENT_OF(extern, Cell, Tf32);    \
  RNNLAB_PERSISTENT_OF(extern, Cell, Float16); \
  RNNLAB_PERSISTENT_OF(extern, Cell, Bfloat16)

RNNLAB_PERSISTENT_CELL(Lstm);
RNNLAB_PERSISTENT_CELL(Gru);
RNNLAB_PERSISTENT_CELL(Rnn);

// Stands for a type that has no value to hand around.
template <class T>
struct TypeOf {
  using Type = T;
};

template <class Use>
void with_cell(PersistentCell cell, const Use& use) {
  switch (cell) {
    case PersistentCell::kLstm:
      return use(TypeOf<Lstm>());
    case PersistentCell::kGru:
      return use(TypeOf<Gru>());
    case PersistentCell::kRnn:
      return use(TypeOf<Rnn>());
  }
}

template <class Use>
void with_numbers(const PersistentSequence& sequence, const Use& use) {
  switch (sequence.type) {
    case ElementType::kFloat32:
      if (sequence.factors == Factors::kFloat32) return use(TypeOf<Float32>());
      return use(TypeOf<Tf32>());
    case ElementType::kFloat16:
      return use(TypeOf<Float16>());
    case ElementType::kBfloat16:
      return use(TypeOf<Bfloat16>());
    case ElementType::kFloat64:
      throw std::invalid_argument("no persistent kernel for float64");
  }
}

// Calls `use` with the cell and the class of numbers, as TypeOf.
template <class Use>
void with_instance(const PersistentSequence& sequence, const Use& use) {
  with_cell(sequence.cell, [&](auto cell) { with_numbers(sequence, [&](auto numbers) { use(cell, numbers); }); });
}

}  // namespace persistent

using persistent::with_instance;

bool has_persistent_layer(int64_t hidden_size) {
  return hidden_size >= 64 && hidden_size <= 1024 && hidden_size % 8 == 0;
}

size_t packed_weight_bytes(const PersistentSequence& sequence) {
  size_t bytes = 0;
  with_instance(sequence, [&]<class Cell, class Numbers>(Cell, Numbers) {
    persistent::with_size<typename Cell::Type, typename Numbers::Type>(
        sequence.hidden_size, [&]<class First, class... Others>(persistent::Choice<First, Others...>) {
          bytes = persistent::packed_bytes<typename First::T>();
        });
  });
  return bytes;
}

void pack_forward_weights(const PersistentSequence& sequence, const void* weight_hh, void* packed,
                          cudaStream_t stream) {
  with_instance(sequence, [&]<class Cell, class Numbers>(Cell, Numbers) {
    persistent::pack_forward_as<typename Cell::Type, typename Numbers::Type>(sequence, weight_hh, packed, stream);
  });
}

void pack_backward_weights(const PersistentSequence& sequence, const void* weight_hh, void* packed,
                           cudaStream_t stream) {
  with_instance(sequence, [&]<class Cell, class Numbers>(Cell, Numbers) {
    persistent::pack_backward_as<typename Cell::Type, typename Numbers::Type>(sequence, weight_hh, packed, stream);
  });
}

void run(const PersistentForward& work, cudaStream_t stream) {
  with_instance(work.sequence, [&]<class Cell, class Numbers>(Cell, Numbers) {
    persistent::run_as<typename Cell::Type, typename Numbers::Type>(work, stream);
  });
}

void run(const PersistentBackward& work, cudaStream_t stream) {
  with_instance(work.sequence, [&]<class Cell, class Numbers>(Cell, Numbers) {
    persistent::run_as<typename Cell::Type, typename Numbers::Type>(work, stream);
  });
}

}  // namespace rnnlab::kernels
