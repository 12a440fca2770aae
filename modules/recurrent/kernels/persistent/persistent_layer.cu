#include "recurrent/kernels/persistent/persistent_layer.h"

#include <algorithm>

#include "recurrent/kernels/persistent/cell_gru.h"
#include "recurrent/kernels/persistent/cell_lstm.h"
#include "recurrent/kernels/persistent/cell_rnn.h"
#include "recurrent/kernels/persistent/grid_sizes.h"
#include "recurrent/kernels/persistent/sizes.h"

namespace rnnlab::kernels {
namespace persistent {

#define RNNLAB_PERSISTENT_CELL(Cell)           \
  RNNLAB_PERSISTENT_OF(extern, Cell, Float32); \
  RNNLAB_PERSISTENT_OF(extern, Cell, Tf32);    \
  RNNLAB_PERSISTENT_OF(extern, Cell, Float16); \
  RNNLAB_PERSISTENT_OF(extern, Cell, Bfloat16)

#define RNNLAB_GRID_OF(Cell, Numbers)                            \
  extern template struct Grid<Cell, Numbers, PersistentForward>; \
  extern template struct Grid<Cell, Numbers, PersistentBackward>

#define RNNLAB_GRID_CELL(Cell)   \
  RNNLAB_GRID_OF(Cell, Tf32);    \
  RNNLAB_GRID_OF(Cell, Float16); \
  RNNLAB_GRID_OF(Cell, Bfloat16)

RNNLAB_GRID_CELL(Lstm);
RNNLAB_GRID_CELL(Gru);
RNNLAB_GRID_CELL(Rnn);

RNNLAB_PERSISTENT_CELL(Lstm);
RNNLAB_PERSISTENT_CELL(Gru);
RNNLAB_PERSISTENT_CELL(Rnn);

// Stands for a type that has no value to hand around.
template <class T>
struct TypeOf {
  using Type = T;
};

template <class Use>
auto with_cell(PersistentCell cell, const Use& use) {
  switch (cell) {
    case PersistentCell::kLstm:
      return use(TypeOf<Lstm>());
    case PersistentCell::kGru:
      return use(TypeOf<Gru>());
    case PersistentCell::kRnn:
      return use(TypeOf<Rnn>());
  }
  throw std::invalid_argument("no persistent kernel for this cell");
}

template <class Use>
auto with_numbers(const PersistentSequence& sequence, const Use& use) {
  switch (sequence.type) {
    case ElementType::kFloat32:
      if (sequence.factors == Factors::kFloat32) return use(TypeOf<Float32>());
      return use(TypeOf<Tf32>());
    case ElementType::kFloat16:
      return use(TypeOf<Float16>());
    case ElementType::kBfloat16:
      return use(TypeOf<Bfloat16>());
    case ElementType::kFloat64:
      break;
  }
  throw std::invalid_argument("no persistent kernel for float64");
}

// What `use` gives for the cell and the class of numbers, as TypeOf.
template <class Use>
auto with_instance(const PersistentSequence& sequence, const Use& use) {
  return with_cell(sequence.cell,
                   [&](auto cell) { return with_numbers(sequence, [&](auto numbers) { return use(cell, numbers); }); });
}

// The same, but for the Grid that takes the pass, where one does.
template <class Work, class UseGrid, class UseClusters>
auto with_kernels(const PersistentSequence& sequence, const UseGrid& use_grid, const UseClusters& use_clusters) {
  return with_instance(sequence, [&]<class Cell, class Numbers>(Cell cell, Numbers numbers) {
    if constexpr (Numbers::Type::kParts == 1) {
      using GridOf = Grid<typename Cell::Type, typename Numbers::Type, Work>;
      if (GridOf::takes(sequence)) return use_grid(TypeOf<GridOf>());
    }
    return use_clusters(cell, numbers);
  });
}

template <class Work>
size_t packed_bytes_of(const PersistentSequence& sequence) {
  return with_kernels<Work>(
      sequence, [&]<class GridOf>(GridOf) { return GridOf::Type::packed_bytes(sequence); },
      [&]<class Cell, class Numbers>(Cell, Numbers) {
        size_t bytes = 0;
        with_size<typename Cell::Type, typename Numbers::Type>(
            sequence.hidden_size,
            [&]<class First, class... Others>(Choice<First, Others...>) { bytes = packed_bytes<typename First::T>(); });
        return bytes;
      });
}

template <class Work>
size_t exchange_bytes_of(const PersistentSequence& sequence) {
  return with_kernels<Work>(
      sequence, [&]<class GridOf>(GridOf) { return GridOf::Type::exchange_bytes(sequence); },
      [](auto, auto) { return size_t{0}; });
}

template <class Work>
PersistentGroups groups_of_pass(const PersistentSequence& sequence) {
  return with_kernels<Work>(
      sequence, [&]<class GridOf>(GridOf) { return GridOf::Type::groups(sequence); },
      [&]<class Cell, class Numbers>(Cell, Numbers) {
        return clusters_as<typename Cell::Type, typename Numbers::Type, Work>(sequence);
      });
}

template <class Work>
void run_pass(const Work& work, cudaStream_t stream) {
  with_kernels<Work>(
      work.sequence, [&]<class GridOf>(GridOf) { GridOf::Type::run(work, stream); },
      [&]<class Cell, class Numbers>(Cell, Numbers) {
        run_as<typename Cell::Type, typename Numbers::Type>(work, stream);
      });
}

}  // namespace persistent

using persistent::with_kernels;

size_t packed_weight_bytes(const PersistentSequence& sequence) {
  return std::max(persistent::packed_bytes_of<PersistentForward>(sequence),
                  persistent::packed_bytes_of<PersistentBackward>(sequence));
}

size_t forward_exchange_bytes(const PersistentSequence& sequence) {
  return persistent::exchange_bytes_of<PersistentForward>(sequence);
}
size_t backward_exchange_bytes(const PersistentSequence& sequence) {
  return persistent::exchange_bytes_of<PersistentBackward>(sequence);
}

PersistentGroups forward_groups(const PersistentSequence& sequence) {
  return persistent::groups_of_pass<PersistentForward>(sequence);
}
PersistentGroups backward_groups(const PersistentSequence& sequence) {
  return persistent::groups_of_pass<PersistentBackward>(sequence);
}

void pack_forward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                          cudaStream_t stream) {
  with_kernels<PersistentForward>(
      sequence, [&]<class GridOf>(GridOf) { GridOf::Type::pack(sequence, weights, packed, stream); },
      [&]<class Cell, class Numbers>(Cell, Numbers) {
        persistent::pack_forward_as<typename Cell::Type, typename Numbers::Type>(sequence, weights, packed, stream);
      });
}

void pack_backward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                           cudaStream_t stream) {
  with_kernels<PersistentBackward>(
      sequence, [&]<class GridOf>(GridOf) { GridOf::Type::pack(sequence, weights, packed, stream); },
      [&]<class Cell, class Numbers>(Cell, Numbers) {
        persistent::pack_backward_as<typename Cell::Type, typename Numbers::Type>(sequence, weights, packed, stream);
      });
}

void run(const PersistentForward& work, cudaStream_t stream) { persistent::run_pass(work, stream); }
void run(const PersistentBackward& work, cudaStream_t stream) { persistent::run_pass(work, stream); }

}  // namespace rnnlab::kernels
