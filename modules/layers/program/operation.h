// SPDX-License-Identifier: Apache-2.0
// The operations of cells' equations. graph.h knows what each of them is. This header contains no functions and
// includes none of the standard library, because sources that are compiled for other processors include it.
#pragma once

#include <cstdint>

namespace rnnlab {

enum class Operation : uint8_t {
  // Leaves.
  kNumber,
  kGate,             // W x + b + R h of a gate that is only read as this sum
  kInputSide,        // W x + b of a gate
  kHiddenSide,       // R h + b of a gate
  kState,            // before the step
  kVector,           // a learned number for each unit
  kStateGradient,    // of a state after the step; in reverse programs alone
  kProductGradient,  // of e, back through the product of a gate with e; in reverse programs alone
  kHiddenProduct,    // R e + b of a gate, for an expression e in place of h; it has one argument
  // Functions of one number.
  kNegate,
  kSigmoid,
  kTanh,
  kRelu,
  kExp,
  kLog,
  kSoftplus,
  kLogSigmoid,
  kAbs,
  kSignOf,
  kConstant,  // the number itself, without a gradient
  // Functions of two numbers.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMin,
  kMax,
  // Conditions, which only `where` reads.
  kLess,
  kLessOrEqual,
  kEqual,
  // A condition and two numbers.
  kWhere,
};

}  // namespace rnnlab
