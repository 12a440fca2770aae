// SPDX-License-Identifier: Apache-2.0
// Back-propagation through time for a group of sequences by a group of blocks. In each step a block waits until all
// senders have sent what they add to the gradients of this block's hidden states, adds that up, computes the gates'
// gradients, writes them to shared memory for itself and its partners, multiplies, and sends each block the sums for
// that block's units.
#pragma once

#include <utility>

#include "layers/persistent/grid/exchange.h"
#include "layers/persistent/grid/gradients.h"
#include "layers/persistent/grid/owner.h"
#include "layers/persistent/grid/weights.h"
#include "layers/persistent/shared/half_gradients.h"

namespace rnnlab::kernels::persistent {

// kWritesHalf: whether the gates' gradients are written as float16 with exponents.
template <class T, bool kWritesHalf>
class GridBackwardBlock {
 public:
  __device__ GridBackwardBlock(const PersistentBackward& work, int first_group, uint4* shared, uint64_t* barriers,
                               uint32_t* maxima)
      : work_(work),
        owner_(work.sequence, first_group),
        tensors_(work, owner_),
        num_steps_(static_cast<int>(work.sequence.num_steps)),
        partners_(shared, barriers, owner_.block, num_steps_ * T::kTurns, work.timed_out),
        exchange_(work, owner_, partners_.end()),
        scales_(maxima, owner_.warp, owner_.lane),
        weights_(
            static_cast<const uint4*>(work.weights) + (owner_.block * T::kWarps + owner_.warp) * S::kFragments * kLanes,
            shared + T::kBackwardBufferBytes / 16, owner_.warp, owner_.lane),
        exponent_(work, owner_.lane) {}

  __device__ void run() {
    if constexpr (T::kPartners > 1)
      if (threadIdx.x == 0) partners_.prepare();
    vectors_.template read<typename T::Numbers::Value>(work_.vectors, owner_.hidden_size, owner_.unit);
    for (int cell = 0; cell < T::kTurns * T::kCells; ++cell) {
      carried_.of(cell) = {};
      if constexpr (Cell::kHasCellState)
        carried_.of(cell) = {tensors_.last_cell_state(cell), tensors_.later_cell_gradient(cell)};
      if constexpr (Cell::kCarriesHidden) carried_.of(cell).after = tensors_.last_hidden_state(cell);
    }
    Step now = tensors_.read(0, 0);
    if constexpr (T::kPartners > 1) cluster_barrier();
    for (int i = 0; i < num_steps_ * T::kTurns; ++i, carried_.next_turn()) run_turn(Turn::of<T>(i), now);
    for (int turn = 0; turn < T::kTurns; ++turn, carried_.next_turn()) write_initial(turn);
    if (work_.bias_sums != nullptr) write_bias_sums();
    if (work_.largest != nullptr && owner_.lane == 0) atomicMax(work_.largest, static_cast<int32_t>(scales_.largest()));
    if constexpr (kWritesHalf) finish_exponent();
    if constexpr (T::kPartners > 1) cluster_barrier();
  }

 private:
  using S = typename T::BackwardSlice;
  using Products = GridProducts<T>;
  using Cell = typename T::Cell;
  using Step = typename GridGradients<T>::Step;
  using Gates = typename GridGradients<T>::Gates;
  using Operand = typename T::Numbers::Operand;
  static constexpr int kGates = T::kGates;
  static constexpr int kAtOnce = T::kUnitTilesAtOnce;
  static constexpr int kVectorsAStep = 2 * T::kSequences;
  using PartnersSums = ProductSums<T::kTiles>[T::kPartners][kAtOnce];

  // read: of this turn in, of the next turn out.
  __device__ void run_turn(const Turn& now, Step& read) {
    const auto [index, step, turn] = now;
    float hidden[T::kCells];  // gradients of the hidden states after this step
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
      hidden[cell] = to_float(read.output_gradient[cell]) + Cell::hidden_gradient_of(carried_.of(cell));
    if (step > 0)
      exchange_.add_received(step, turn, owner_, hidden);
    else
      for (int cell = 0; cell < T::kCells; ++cell)
        hidden[cell] += tensors_.later_hidden_gradient(turn * T::kCells + cell);

    Gates gates;
    const StartBits<Cell> starts = start_bits<Cell>(read.starts, owner_.sequence);
    differentiate(turn, read, starts, hidden, gates);
    lay_out(index, gates, starts);
    if constexpr (kWritesHalf) scales_.tell_block(index);
    Products::publish();
    __syncthreads();
    if constexpr (kWritesHalf) largest_ = scales_.largest_of_block(index);  // early, because writing waits for it
    if constexpr (T::kPartners > 1) {
      PartnersSums sums;
      multiply_own(index, sums);
      partners_.hand_out(index);
      write_and_read_next(now, gates, read);
      partners_.wait(index);
      multiply_and_send(now, sums);
    } else {
      multiply_and_send_alone(now);
      write_and_read_next(now, gates, read);
    }
  }

  __device__ void write_and_read_next(const Turn& now, const Gates& gates, Step& read) {
    write(now, gates);
    const Turn next = Turn::of<T>(now.index + 1);
    if (next.turn == 0) tensors_.advance();
    if (next.step < num_steps_) read = tensors_.read(next.step, next.turn);
  }

  __device__ void write(const Turn& now, const Gates& gates) {
    if constexpr (kWritesHalf) {
      exponent_.adapt(now.index, largest_, fill_exponents());
      tensors_.template write<Half>(now.turn, gates, exponent_.scale());
    } else {
      tensors_.template write<typename T::Numbers::Value>(now.turn, gates, 1.0f);
    }
  }

  __device__ void finish_exponent() const {
    exponent_.finish(work_, num_steps_ * T::kTurns, largest_, threadIdx.x == 0, fill_exponents());
  }

  // Writes the exponents of the block's turns.
  __device__ auto fill_exponents() const {
    return [this](int first, int end, int8_t exponent) {
      const auto place_of = [this](int index) -> TurnPlace {
        const Turn of = Turn::of<T>(index);
        return {of.step, owner_.first_sequence + of.turn * T::kSequences, owner_.block * T::kUnits};
      };
      write_exponents<T::kSequences, T::kUnits>(work_, first, end, exponent, static_cast<int>(threadIdx.x), T::kThreads,
                                                place_of);
    };
  }

  __device__ void differentiate(int turn, const Step& read, StartBits<Cell> starts, const float (&hidden)[T::kCells],
                                Gates& gates) {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      float kept[GridGradients<T>::kKeptRoom];
#pragma unroll
      for (int j = 0; j < Cell::kKept; ++j) kept[j] = to_float(read.kept[cell][j]);
      cell_.template backward<FunctionsOf<typename T::Numbers>>(
          kept, to_float(read.state[cell]), is_start(starts, cell * T::kStride), hidden[cell], read.cell_gradient[cell],
          vectors_, carried_.of(cell), gates.of[cell], gates.aside[cell], gates.vectors[cell]);
      if (!owner_.has(turn * T::kCells + cell)) {  // computed from another cell's values, which were read instead
#pragma unroll
        for (float& gate : gates.of[cell]) gate = 0.0f;
        gates.aside[cell] = 0.0f;
        gates.vectors[cell].clear();
      }
      bias_sums_.add(gates.of[cell], gates.aside[cell], gates.vectors[cell]);
    }
  }

  // Writes the gradients to shared memory as products read them, multiplied by their sequence's scale if they become
  // float16. A start shares zeros, so that no gradient reaches the steps before it.
  __device__ void lay_out(int index, const Gates& gradients, StartBits<Cell> starts) {
    uint4* gates = partners_.gates(index, 0);
    float* unscale = partners_.unscale(index, 0);
    float scales[T::kCells];
    if constexpr (T::Numbers::kIsScaled) scales_.find(index, gradients, scales);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const int sequence = owner_.sequence + cell * T::kStride;
      const float scale = T::Numbers::kIsScaled ? scales[cell] : 1.0f;
      if (owner_.unit_of_block == 0) unscale[sequence] = 1.0f / scale;
      const float factor = is_start(starts, cell * T::kStride) ? 0.0f : scale;
      Operand* place =
          reinterpret_cast<Operand*>(gates + sequence / kSequencesPerTile * 2 * kOctet + sequence % kSequencesPerTile);
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) {
        const int row = gate * T::kUnits + owner_.unit_of_block;
        const int vector = row / kColumnsAStep * 2 * T::kSequences + row / kOctet % 2 * kOctet;
        place[vector * kOctet + row % kOctet] = from_float<Operand>(gradients.of[cell][gate] * factor);
      }
    }
  }

  // Begins the part of the first tiles that does not need the partners' gates.
  __device__ void multiply_own(int index, PartnersSums& sums) {
    Products::begin();
#pragma unroll
    for (int tile = 0; tile < kAtOnce; ++tile) multiply(index, tile, 0, sums[0][tile]);
    Products::commit();
  }

  // Computes the other parts, tile by tile. Finished tiles are sent while the tensor cores compute the next ones.
  __device__ void multiply_and_send(const Turn& now, PartnersSums& sums) {
    Products::begin();
#pragma unroll
    for (int tile = 0; tile < kAtOnce; ++tile) multiply_by_partners(now.index, tile, 1, sums);
    send_each(now, sums, std::make_integer_sequence<int, T::kUnitTiles>());
  }

  // The same without partners. Vectors are read once for all tiles.
  __device__ void multiply_and_send_alone(const Turn& now) {
    const typename Products::Matrix gates(partners_.gates(now.index, 0));
    decltype(gates.at(0)) vectors[T::kGateSteps];
#pragma unroll
    for (int column = 0; column < T::kGateSteps; ++column) vectors[column] = gates.at(column * kVectorsAStep);
    PartnersSums sums;
#pragma unroll
    for (int tile = 0; tile < T::kUnitTiles; ++tile) {
#pragma unroll
      for (int column = 0; column < T::kGateSteps; ++column)
        weights_.template multiply<Operand>(tile * T::kGateSteps + column, column == 0 ? Sums::kBegin : Sums::kContinue,
                                            sums[0][tile % kAtOnce], vectors[column]);
      send_sums(now, tile, sums);
    }
  }

  template <int... kTile>
  __device__ void send_each(const Turn& now, PartnersSums& sums, std::integer_sequence<int, kTile...>) {
    (send_when_done<kTile>(now, sums), ...);
  }

  // Multiplies by the gates of partner `first` and of those after it.
  __device__ void multiply_by_partners(int index, int tile, int first, PartnersSums& sums) {
#pragma unroll
    for (int i = first; i < T::kPartners; ++i) multiply(index, tile, i, sums[i][tile % kAtOnce]);
    Products::commit();
  }

  __device__ void multiply(int index, int tile, int partner, ProductSums<T::kTiles>& sums) {
    const typename Products::Matrix gates(partners_.gates(index, partner));
#pragma unroll
    for (int column = 0; column < T::kGateSteps; ++column)
      weights_.template multiply<Operand>((tile * T::kPartners + partner) * T::kGateSteps + column,
                                          column == 0 ? Sums::kBegin : Sums::kContinue, sums,
                                          gates.at(column * kVectorsAStep));
  }

  // Sends the sums of a tile, and begins the tile that is kAtOnce further on, which uses the same registers.
  template <int kTile>
  __device__ void send_when_done(const Turn& now, PartnersSums& sums) {
    Products::template wait<smaller(kAtOnce, T::kUnitTiles - kTile) - 1>();
    send_sums(now, kTile, sums);
    if constexpr (kTile + kAtOnce < T::kUnitTiles) {
      Products::begin();
      multiply_by_partners(now.index, kTile + kAtOnce, 0, sums);
    }
  }

  // Sends a warp's rows of the tile, which are 16 units, to the block that owns them, for its next step.
  __device__ void send_sums(const Turn& now, int tile, const PartnersSums& sums) const {
    const int part = owner_.block % T::kPartners * T::kWarpgroups + owner_.warpgroup;
    const int unit = ((part * T::kUnitTiles + tile) * kWarpsPerGroup + owner_.warp % kWarpsPerGroup) * kTileRows;
#pragma unroll
    for (int pair = 0; pair < T::kTilePairs; ++pair) {
      PartialSums of_pair;
#pragma unroll
      for (int i = 0; i < kSumsOfPack; ++i) of_pair[i] = of_partners(now.index, tile, pair * kSumsOfPack + i, sums);
      exchange_.send(now.step + 1, now.turn, owner_, unit, pair, of_pair);
    }
  }

  // Sum i of a thread for 16 units, four for each tile of sequences: the sum over the gates of all partners.
  __device__ float of_partners(int index, int tile, int i, const PartnersSums& sums) const {
    const int sequence = i / 4 * kSequencesPerTile + owner_.lane % 4 * 2 + i % 2;
    float sum = 0.0f;
#pragma unroll
    for (int partner = 0; partner < T::kPartners; ++partner)
      sum += sums[partner][tile % kAtOnce][i] * partners_.unscale(index, partner)[sequence];
    return sum;
  }

  __device__ void write_bias_sums() const {
    const SumPlace place = {.is_first = owner_.sequence == 0,
                            .unit = owner_.unit,
                            .hidden_size = owner_.hidden_size,
                            .first_row = owner_.first_sequence / kSequencesOfSums,
                            .num_sequences = owner_.num_sequences};
    float* room = exchange_.room();
    const auto of_all_sequences = [room](float sum) {
      __syncthreads();
      room[threadIdx.x] = sum;
      __syncthreads();
      float of_all = 0.0f;
      for (int i = static_cast<int>(threadIdx.x); i < T::kThreads; i += T::kUnits) of_all += room[i];
      return of_all;
    };
    bias_sums_.write(place, T::kSequencesOfGroup / kSequencesOfSums, of_all_sequences, work_.bias_sums);
  }

  __device__ void write_initial(int turn) {
    float hidden[T::kCells] = {};
    if (turn > 0) __syncthreads();  // all have read what the turn before received
    exchange_.add_received(num_steps_, turn, owner_, hidden);
    for (int cell = 0; cell < T::kCells; ++cell) {
      float cell_state = 0.0f;
      if constexpr (Cell::kHasCellState) cell_state = carried_.of(cell).gradient;
      tensors_.write_initial(turn * T::kCells + cell, hidden[cell] + Cell::hidden_gradient_of(carried_.of(cell)),
                             cell_state);
    }
  }

  const PersistentBackward& work_;
  Cell cell_;
  GridOwner<T> owner_;
  GridGradients<T> tensors_;
  int num_steps_;
  GridPartners<T> partners_;
  GridSumExchange<T> exchange_;
  GradientScales<T> scales_;
  typename Products::template Weights<S> weights_;
  CarriedCells<T, typename Cell::Carried> carried_;
  BiasSums<T> bias_sums_;
  UnitVectors<Cell> vectors_;
  std::conditional_t<kWritesHalf, HalfExponent, NoHalfExponent> exponent_;
  uint32_t largest_ = 0;  // the bits of the largest gradient of a gate that the block has had, if kWritesHalf
};

template <class T, bool kWritesHalf = false>
__global__ void __launch_bounds__(T::kThreads, 1)
    grid_backward_kernel(const __grid_constant__ PersistentBackward work, int first_group) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  using Scales = GradientScales<T>;
  __shared__ uint32_t maxima[Scales::kMaxima + (kWritesHalf ? Scales::kMaximaOfBlock : 0)];
  GridBackwardBlock<T, kWritesHalf>(work, first_group, shared, barriers, maxima).run();
}

}  // namespace rnnlab::kernels::persistent
