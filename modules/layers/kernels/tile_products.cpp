// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layers/kernels/tile_products.h"

namespace rnnlab::kernels {
namespace {

// The instructions are written as assembly, because the compiler's own functions for them do not declare which memory
// they read, so the compiler may remove earlier writes to this memory as unused.
struct ProcessorTiles {
  static void configure(const TileConfiguration& configuration) { asm volatile("ldtilecfg %0" ::"m"(configuration)); }
  static void release() { asm volatile("tilerelease"); }
  template <int tile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(tile));
  }
  template <int tile>
  static void load(const void* data, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(data), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  static void store(void* data, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(data), "r"(stride), "i"(tile) : "memory");
  }
  template <int sum, int left, int right>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(left), "i"(right));
  }
};

bool processor_has_tiles() {
  constexpr unsigned kBfloat16 = 1U << 22, kTile = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d & kBfloat16) != 0 && (d & kTile) != 0;
}

// Linux allows a process to use tile data only on request: ARCH_REQ_XCOMP_PERM for XFEATURE_XTILEDATA.
bool system_allows_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_tiles() {
  static const bool kHasTiles = processor_has_tiles() && system_allows_tiles();
  return kHasTiles;
}

void configure_tiles() { configure<ProcessorTiles>(kRowsOfTile); }
void release_tiles() { ProcessorTiles::release(); }
void multiply_tiles(const TileProduct& product) { multiply_by<ProcessorTiles>(product); }

}  // namespace rnnlab::kernels
