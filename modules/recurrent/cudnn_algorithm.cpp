#include "recurrent/cudnn_algorithm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "recurrent/cells/cell.h"

namespace rnnlab {
namespace {

bool is_gated(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
    case LibraryCell::kGru:
      return true;
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return false;
  }
  return false;
}

int64_t small_hidden_limit(Cell cell, CudnnPass pass) {
  if (pass == CudnnPass::kForward) return is_gated(cell) ? 192 : 384;
  return is_gated(cell) ? 128 : 256;
}

bool fits_persist_static(const CudnnCall& call) {
  if (call.type != at::kHalf || call.cell == Cell::kGru) return false;
  const bool shape_fits = call.num_layers == 1 && call.num_directions == 1 && call.hidden_size <= 1024 &&
                          call.hidden_size % 128 == 0 && call.input_size % 128 == 0;
  const bool batch_fits = call.batch_size % 8 == 0 && call.batch_size <= 128;
  const bool too_wide = call.cell != Cell::kLstm && call.batch_size >= 96 && call.hidden_size >= 896;
  return shape_fits && batch_fits && !too_wide;
}

}  // namespace

CudnnAlgorithm cudnn_algorithm(const CudnnCall& call, CudnnPass pass) {
  if (call.sequences == CudnnSequences::kPacked) return CudnnAlgorithm::kStandard;
  if (call.type != at::kDouble && call.hidden_size <= small_hidden_limit(call.cell, pass))
    return CudnnAlgorithm::kSmallHidden;
  return fits_persist_static(call) ? CudnnAlgorithm::kPersistStatic : CudnnAlgorithm::kStandard;
}

std::string_view words_for(CudnnAlgorithm algorithm) {
  switch (algorithm) {
    case CudnnAlgorithm::kAuto:
      return "auto";
    case CudnnAlgorithm::kStandard:
      return "standard";
    case CudnnAlgorithm::kPersistStatic:
      return "persist static";
    case CudnnAlgorithm::kPersistDynamic:
      return "persist dynamic";
    case CudnnAlgorithm::kSmallHidden:
      return "persist static small-H";
  }
  RNNLAB_INVARIANT(false, "an algorithm that words_for does not know");
  return "";
}

std::string why_standard(const CudnnCall& call) {
  for (const CudnnPass pass : {CudnnPass::kForward, CudnnPass::kBackward})
    if (cudnn_algorithm(call, pass) != CudnnAlgorithm::kStandard) return "";
  if (call.sequences == CudnnSequences::kPacked)
    return "LibTorch asks cuDNN for its standard algorithm when sequences have lengths of their own";
  if (call.type == at::kDouble) return "LibTorch asks cuDNN for its standard algorithm in float64";
  return fmt::format(
      "LibTorch asks cuDNN for small-H up to hidden_size {} (backward {}), and for persist static in float16 only, "
      "with one layer in one direction",
      small_hidden_limit(call.cell, CudnnPass::kForward), small_hidden_limit(call.cell, CudnnPass::kBackward));
}

}  // namespace rnnlab
