#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "checkpoint/safetensors.h"

namespace rnnlab::testing {
namespace {

TensorFile file_with(const std::vector<TensorSpec>& specs) {
  TensorFile file;
  file.name = "m.safetensors";
  for (const TensorSpec& spec : specs) file.tensors.push_back({spec, {}});
  return file;
}

const TensorSpec kWeight = {"weight", DType::kF32, {2, 3}};
const TensorSpec kBias = {"bias", DType::kF32, {3}};

void expect_tensors_refused(const std::vector<TensorSpec>& got, const std::string& message) {
  expect_error(ExitCode::kCheckpoint, "m.safetensors: " + message + "; it was made with a different model", [&] {
    require_tensors(file_with(got), {kWeight, kBias});
  });
}

TEST(RequireTensors, TakesThemInAnyOrder) {
  require_tensors(file_with({kBias, kWeight}), {kWeight, kBias});
  require_tensors(file_with({}), {});
}

TEST(RequireTensors, NamesWhatDiffers) {
  expect_tensors_refused({{"weight", DType::kF32, {3, 2}}, kBias}, "tensor 'weight' has shape [3, 2], expected [2, 3]");
  expect_tensors_refused({{"weight", DType::kF64, {2, 3}}, kBias}, "tensor 'weight' has dtype F64, expected F32");
  expect_tensors_refused({kWeight}, "tensor 'bias' is missing, expected F32 [3]");
  expect_tensors_refused({kWeight, kBias, {"gain", DType::kF16, {}}},
                         "tensor 'gain', F16 [], is not part of the model");
}

TEST(RequireTensors, FindsTheLayerAmongTheMembersOfAModel) {
  const TensorSpec wanted = {"recurrent.weight_ih_l0", DType::kF32, {4, 1}};
  expect_error(ExitCode::kCheckpoint,
               "m.safetensors: tensor 'recurrent.weight_ih_l0' is missing, expected F32 [4, 1] (there is "
               "'lstm.weight_ih_l0': write the layer's own state_dict), and 1 difference more; it was made with a "
               "different model",
               [&] {
                 require_tensors(file_with({{"lstm.weight_ih_l0", DType::kF32, {4, 1}}}), {wanted});
               });
}

TEST(RequireTensors, CountsTheOthers) {
  expect_tensors_refused({kWeight, {"gain", DType::kF16, {}}},
                         "tensor 'bias' is missing, expected F32 [3], and 1 difference more");
  expect_tensors_refused({}, "tensor 'weight' is missing, expected F32 [2, 3], and 1 difference more");
  expect_tensors_refused({{"a", DType::kU8, {}}, {"b", DType::kU8, {}}},
                         "tensor 'weight' is missing, expected F32 [2, 3], and 3 differences more");
}

}  // namespace
}  // namespace rnnlab::testing
