// A dense array as a reader hands it on: element type, shape, bytes. Row-major, native byte order. No arithmetic, no
// views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/readers/byte_stream.h"

namespace rnnlab {

enum class ElementType { kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF32, kF64 };

std::string_view element_name(ElementType type);  // "bool", "u8", "i8", ... "f64"
int64_t element_size(ElementType type);           // in bytes; a bool takes one, 0 or 1

// What every reader promises: at least one dimension, every size at least 1, and as many bytes as they need.
struct Array {
  ElementType type = ElementType::kU8;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  int64_t num_elements() const { return static_cast<int64_t>(bytes.size()) / element_size(type); }

  // The elements as T, which must be as wide as the element type.
  template <class T>
  std::span<const T> values() const {
    RNNLAB_INVARIANT(element_size(type) == static_cast<int64_t>(sizeof(T)), "an array read as another type");
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> values() {
    RNNLAB_INVARIANT(element_size(type) == static_cast<int64_t>(sizeof(T)), "an array read as another type");
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// The product of all sizes times the element size, or nothing where it passes 2^63 - 1. Sizes are not negative.
std::optional<int64_t> checked_num_bytes(std::span<const int64_t> shape, ElementType type);

std::string format_shape(std::span<const int64_t> shape);  // "60000 x 28 x 28", cut after eight

// Turns the byte order of every element around, in place.
void swap_bytes(std::span<std::byte> bytes, int64_t element_size);

// Calls visitor(std::span<const T>) with the array's elements; a bool comes as uint8_t.
template <class Visitor>
decltype(auto) visit_values(const Array& array, Visitor&& visitor) {
  switch (array.type) {
    case ElementType::kBool:
    case ElementType::kU8:
      return visitor(array.values<uint8_t>());
    case ElementType::kI8:
      return visitor(array.values<int8_t>());
    case ElementType::kU16:
      return visitor(array.values<uint16_t>());
    case ElementType::kI16:
      return visitor(array.values<int16_t>());
    case ElementType::kU32:
      return visitor(array.values<uint32_t>());
    case ElementType::kI32:
      return visitor(array.values<int32_t>());
    case ElementType::kU64:
      return visitor(array.values<uint64_t>());
    case ElementType::kI64:
      return visitor(array.values<int64_t>());
    case ElementType::kF32:
      return visitor(array.values<float>());
    case ElementType::kF64:
      break;
  }
  return visitor(array.values<double>());
}

// The data part that IDX and npy share: so many elements in one block, and then the end of the file, to the byte.

// Reads the elements as they lie in the file, whatever their byte order. `offset` is where the stream stands.
// The sizes are held against what the file can hold before any memory is taken.
Array read_array(ByteStream& stream, int64_t offset, ElementType type, std::vector<int64_t> shape);

}  // namespace rnnlab
