#include "recurrent/cudnn/rnn_shape.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "recurrent/device/number_types.h"

namespace rnnlab {

RnnShape shape_of(const RecurrentOptions& options, const at::Tensor& input, Passes passes) {
  const at::ScalarType type = input.scalar_type();
  const bool runs_tf32 = type == at::kFloat && at::globalContext().allowTF32CuDNN(at::Float32Op::RNN);
  return {.cell = options.cell,
          .type = type,
          .float32_math = runs_tf32 ? Float32Math::kTf32 : Float32Math::kFma,
          .passes = passes,
          .num_steps = input.size(0),
          .batch_size = input.size(1),
          .input_size = options.input_size,
          .hidden_size = options.hidden_size,
          .num_layers = options.num_layers,
          .num_directions = options.num_directions()};
}

std::string precision_of(const RnnShape& shape) {
  const std::string name(number_type_name(shape.type));
  return shape.float32_math == Float32Math::kTf32 ? name + ", TF32" : name;
}

std::string text_of(const RnnShape& shape) {
  return fmt::format("{} in {}, T {}, B {}, I {}, H {}, L {}, D {}", config::name_of(shape.cell), precision_of(shape),
                     shape.num_steps, shape.batch_size, shape.input_size, shape.hidden_size, shape.num_layers,
                     shape.num_directions);
}

}  // namespace rnnlab
