// Rows of a table by token, as at::embedding, whose gradient is a product where a table of few rows meets many tokens
// on a GPU: LibTorch sorts the tokens for it, which for 65 characters takes ten times as long. In the type of autocast,
// where that is on: what reads the rows would convert them.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// table: (V, E); tokens: any shape S, int64 -> (S, E). Not differentiable twice on a GPU.
at::Tensor rows_of_tokens(const at::Tensor& table, const at::Tensor& tokens);

}  // namespace rnnlab
