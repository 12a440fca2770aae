// Rows of a table by token, as at::embedding, whose gradient is a product where a table of few rows meets many tokens
// on a GPU: LibTorch sorts the tokens for it, which for 65 characters takes ten times as long. In the type of autocast,
// where that is on: what reads the rows would convert them.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// table: (V, I); tokens: any shape S, int64 -> (S, I). Not differentiable twice on a GPU.
at::Tensor embedding_lookup(const at::Tensor& table, const at::Tensor& tokens);

// Whether a product with places_of_tokens is the faster way, and its memory bounded: 256 MB.
bool gains_by_places(int64_t num_rows, int64_t num_tokens);

// (V, N): 1 where a token, of N, is the row's. Products take it by rows whose length is rounder than V.
at::Tensor places_of_tokens(const at::Tensor& tokens, int64_t num_rows, const at::TensorOptions& options);

}  // namespace rnnlab
