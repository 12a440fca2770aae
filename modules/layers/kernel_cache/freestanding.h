// SPDX-License-Identifier: Apache-2.0
// The parts of the standard library that kernels use, for NVRTC, which has no headers of its own: it finds this text
// under the names of the headers that kernels include. A compiler that has a standard library never reads this file.
#ifndef RNNLAB_FREESTANDING
#define RNNLAB_FREESTANDING  // instead of `#pragma once`, because NVRTC knows this text under several names

using int8_t = signed char;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;

namespace std {

using ::size_t;

template <class A, class B>
constexpr bool is_same_v = false;
template <class A>
constexpr bool is_same_v<A, A> = true;

template <bool kIsFirst, class First, class Second>
struct conditional {
  using type = First;
};
template <class First, class Second>
struct conditional<false, First, Second> {
  using type = Second;
};
template <bool kIsFirst, class First, class Second>
using conditional_t = typename conditional<kIsFirst, First, Second>::type;

template <class T, T... kValues>
struct integer_sequence {};
template <int kCount, int... kValues>
struct sequence_to : sequence_to<kCount - 1, kCount - 1, kValues...> {};
template <int... kValues>
struct sequence_to<0, kValues...> {
  using type = integer_sequence<int, kValues...>;
};
template <class T, int kCount>
using make_integer_sequence = typename sequence_to<kCount>::type;

}  // namespace std

#endif
