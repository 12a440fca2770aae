// Looks up rows of a table by token, like at::embedding. On a GPU the gradient is a product if the table has few rows
// and there are many tokens: LibTorch sorts the tokens instead, which for 65 characters takes ten times as long. The
// rows have the type of autocast if it is on, because their reader would convert them.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// table: (V, I); tokens: any shape S, int64 -> (S, I). Not differentiable twice on a GPU.
at::Tensor embedding_lookup(const at::Tensor& table, const at::Tensor& tokens);

// Returns whether a product with places_of_tokens is faster and its memory is at most 256 MB.
bool gains_by_places(int64_t num_rows, int64_t num_tokens);

// Returns (V, N): 1 if the n-th of N tokens is the row's token, otherwise 0. Products read it by rows, whose length N
// is more suitable for kernels than V.
at::Tensor places_of_tokens(const at::Tensor& tokens, int64_t num_rows, const at::TensorOptions& options);

}  // namespace rnnlab
