// How the blocks of a group hand each other the sums of gradients of the backward pass: each sender writes a parcel for
// every 16 units and two tiles of sequences of the receiver's, who adds up those of all senders.
#pragma once

#include "recurrent/kernels/persistent/grid_owner.h"
#include "recurrent/kernels/persistent/grid_parcel.h"

namespace rnnlab::kernels::persistent {

template <class T>
class GridSumExchange {
 public:
  // room: of shared memory, kShares * kReceived numbers.
  __device__ GridSumExchange(const PersistentBackward& work, const GridOwner<T>& owner, float* room)
      : exchange_(static_cast<uint32_t*>(work.exchange) +
                  static_cast<size_t>(owner.group) * T::kTurns * T::kSumBuffers * T::kSumBufferWords),
        room_(room),
        patience_(work.timed_out) {}

  // A number for each thread, when nothing is received any more.
  __device__ float* room() const { return room_; }

  // What all senders have sent before this step, to this thread's cells: threads add it up in kShares parts.
  __device__ void add_received(int step, int turn, const GridOwner<T>& owner, float (&hidden)[T::kCells]) {
    const int share = static_cast<int>(threadIdx.x) / T::kParcels;
    const int parcel = static_cast<int>(threadIdx.x) % T::kParcels / kLanes;
    ParcelSums sums = {};
#pragma unroll
    for (int first = 0; first < T::kSendersAShare; first += T::kParcelsAtOnce)
      add_parcels(step, place_of(step, turn, owner.block, share * T::kSendersAShare + first, parcel), owner.lane, sums);
    spread(share, parcel, owner.lane, sums);
    __syncthreads();
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const int place = (owner.sequence + cell * T::kStride) * T::kReceivedStride + owner.unit_of_block;
#pragma unroll
      for (int i = 0; i < T::kShares; ++i) hidden[cell] += room_[i * T::kReceived + place];
    }
  }

  // To the block that has 16 units from `unit` on, for its step: the sums of the pair-th two tiles.
  __device__ void send(int step, int turn, const GridOwner<T>& owner, int unit, int pair,
                       const ParcelSums& sums) const {
    const int parcel = unit % T::kUnits / kTileRows * T::kTilePairs + pair;
    Parcel(sums, phase_of(step))
        .write(place_of(step, turn, unit / T::kUnits, owner.block / T::kPartners, parcel), owner.lane);
  }

 private:
  using Parcel = persistent::Parcel<typename T::Numbers>;
  static constexpr int kWordsOfSender = T::kParcelsOfLane * Parcel::kWordsOfWarp;
  static_assert(T::kSendersAShare % T::kParcelsAtOnce == 0);

  // By receivers, senders, 16 units, pairs of tiles.
  __device__ uint32_t* place_of(int step, int turn, int receiver, int sender, int parcel) const {
    return exchange_ + (turn * T::kSumBuffers + (step & 1)) * T::kSumBufferWords +
           (receiver * T::kSenders + sender) * kWordsOfSender + parcel * Parcel::kWordsOfWarp;
  }

  __device__ void add_parcels(int step, const uint32_t* from, int lane, ParcelSums& sums) {
    Parcel parcels[T::kParcelsAtOnce];
    patience_.read_all(
        parcels, [&](int i) { return Parcel::read(from + i * kWordsOfSender, lane); },
        [phase = phase_of(step)](const Parcel& parcel) { return parcel.is_of_phase(phase); });
#pragma unroll
    for (const Parcel& parcel : parcels) parcel.add_to(sums);
  }

  // From the places that a product's sums have in threads to sequences by units.
  __device__ void spread(int share, int parcel, int lane, const ParcelSums& sums) const {
    const int sequence = parcel % T::kTilePairs * 2 * kSequencesPerTile + lane % 4 * 2;
    float* place =
        room_ + share * T::kReceived + sequence * T::kReceivedStride + parcel / T::kTilePairs * kTileRows + lane / 4;
#pragma unroll
    for (int i = 0; i < kSumsOfParcel; ++i)
      place[(i / 4 * kSequencesPerTile + i % 2) * T::kReceivedStride + i / 2 % 2 * 8] = sums[i];
  }

  uint32_t* exchange_;  // kSumBuffers of each turn of the group
  float* room_;         // sums of each share
  Patience patience_;
};

}  // namespace rnnlab::kernels::persistent
