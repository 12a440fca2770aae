// The sizes of the cells that there are kernels for, as host and device know them; cell_lstm.h, cell_gru.h and
// cell_rnn.h have what they compute.
#pragma once

namespace rnnlab::kernels::persistent {

struct LstmSizes {
  static constexpr int kGates = 4;  // i f g o
  static constexpr int kKept = 4;   // the same, activated
};

struct GruSizes {
  static constexpr int kGates = 3;  // r z n
  static constexpr int kKept = 4;   // the same, activated, and R h + b of n
};

struct RnnSizes {
  static constexpr int kGates = 1;
  static constexpr int kKept = 0;
};

}  // namespace rnnlab::kernels::persistent
