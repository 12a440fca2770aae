// SPDX-License-Identifier: Apache-2.0
// A dense array as readers return it: element type, shape, bytes. It is row-major, in native byte order. It has no
// arithmetic and no views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "data/readers/byte_stream.h"

namespace rnnlab {

enum class ElementType { kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF32, kF64 };

std::string_view element_name(ElementType type);  // "bool", "u8", "i8", ... "f64"
int64_t element_size(ElementType type);           // in bytes; a bool takes one byte, 0 or 1
bool is_integer(ElementType type);                // also of a bool

// Return the element type for a type code of npy files ("f4") or of IDX files (0x0d), or nullopt if it is unknown.
std::optional<ElementType> type_of_npy_code(std::string_view code);
std::optional<ElementType> type_of_idx_code(int code);

// Every reader promises: at least one dimension, every size at least 1, and as many bytes as the sizes require.
struct Array {
  ElementType type = ElementType::kU8;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  int64_t num_elements() const { return static_cast<int64_t>(bytes.size()) / element_size(type); }

  // Returns the elements as T, which must be as wide as the element type.
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

// Returns the product of all sizes and the element size, or nullopt if it exceeds 2^63 - 1. Sizes are not negative.
std::optional<int64_t> checked_num_bytes(std::span<const int64_t> shape, ElementType type);

std::string format_shape(std::span<const int64_t> shape);  // "60000 x 28 x 28", cut after eight sizes

// Reverses the byte order of every element, in place.
void swap_bytes(std::span<std::byte> bytes, int64_t element_size);

// Calls visitor(std::type_identity<T>) with the C++ type of the elements; T is uint8_t for a bool.
template <class Visitor>
decltype(auto) visit_type(ElementType type, Visitor&& visitor) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kU8:
      return visitor(std::type_identity<uint8_t>());
    case ElementType::kI8:
      return visitor(std::type_identity<int8_t>());
    case ElementType::kU16:
      return visitor(std::type_identity<uint16_t>());
    case ElementType::kI16:
      return visitor(std::type_identity<int16_t>());
    case ElementType::kU32:
      return visitor(std::type_identity<uint32_t>());
    case ElementType::kI32:
      return visitor(std::type_identity<int32_t>());
    case ElementType::kU64:
      return visitor(std::type_identity<uint64_t>());
    case ElementType::kI64:
      return visitor(std::type_identity<int64_t>());
    case ElementType::kF32:
      return visitor(std::type_identity<float>());
    case ElementType::kF64:
      break;
  }
  return visitor(std::type_identity<double>());
}

// Calls visitor(std::span<const T>) with the array's elements.
template <class Visitor>
decltype(auto) visit_values(const Array& array, Visitor&& visitor) {
  return visit_type(array.type,
                    [&]<class T>(std::type_identity<T>) -> decltype(auto) { return visitor(array.values<T>()); });
}

// Reads the data part that IDX and npy share: all elements in one block, followed by the end of the file. The elements
// keep the byte order of the file. `offset` is the position of the stream. The sizes are compared with the most bytes
// that the file can hold before memory is allocated.
Array read_array(ByteStream& stream, int64_t offset, ElementType type, std::vector<int64_t> shape);

using ArrayReader = Array (*)(const std::filesystem::path&);

// IDX, the format of MNIST: two zero bytes, element type, number of dimensions, big-endian sizes, data.
// The reader accepts all six types, 1 to 255 dimensions, plain or gzip. The data must end exactly at the end of the
// file.
// Source: the description of the MNIST files, http://yann.lecun.com/exdb/mnist.
//
// Throws UserError kData with the byte at which the file is invalid. The memory is the array itself, and never exceeds
// what the file can hold.
Array read_idx(const std::filesystem::path& path);

// npy, the file of one NumPy array: versions 1.0 to 3.0; bool, integers and floats in either byte order; C or Fortran
// order; plain, gzip, or in an .npz archive (npz.h). Objects, structures, text, dates and complex numbers are refused
// with a specific message.
// Source: numpy.lib.format, "NPY format".
//
// Returns the array in row-major order; 16-bit floats become f32, which represents them exactly. An empty array and a
// single number without dimensions are errors. Throws UserError kData with the byte at which the file is invalid.
Array read_npy(const std::filesystem::path& path);
Array read_npy(ByteStream& stream);

// What the header of an npy file says of its elements.
struct NpyLayout {
  ElementType type = ElementType::kU8;  // of a 16-bit float: kU16, its bits
  bool is_half = false;                 // whether the elements are 16-bit floats
  bool is_swapped = false;              // whether their byte order is not that of this machine
  bool is_fortran = false;              // whether they are in Fortran order
  bool is_packed = false;               // whether the file is gzip, or an array of an .npz archive
  std::vector<int64_t> shape;
  int64_t data_offset = 0;  // in bytes, of the first element
};

// Reads only the header. Throws UserError kData as read_npy, except for what it would find in the data.
NpyLayout read_npy_layout(const std::filesystem::path& path);

// Draws one image in characters, for `data inspect`. The smallest value is a space and the largest value is '@'.
//
// `pixels` holds num_rows x num_columns values. The picture is at most 80 characters wide. A pixel takes two characters
// if they fit, because characters are about twice as high as wide; wider images are averaged down. Every line ends with
// a line feed. NaN is '?'.
std::string ascii_image(std::span<const float> pixels, int64_t num_rows, int64_t num_columns);

// Draws image `index` of an array (N, rows, columns), or the whole array (rows, columns) with index 0.
std::string ascii_image(const Array& images, int64_t index);

}  // namespace rnnlab
