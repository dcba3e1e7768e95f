#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace cohort {

// Element type of a tensor. The numbers are written into files and messages: append only.
enum class DType : std::uint8_t {
  Bool = 0,
  UInt8 = 1,
  Int8 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  BFloat16 = 6,
  Float32 = 7,
  Float64 = 8,
  String = 9,
  Resource = 10,
};
// Number of types.
inline constexpr int kDTypeCount = 11;

// The types under Keras's names: ch::float32.
inline constexpr DType boolean = DType::Bool, uint8 = DType::UInt8, int8 = DType::Int8, int32 = DType::Int32,
                       int64 = DType::Int64, float16 = DType::Float16, bfloat16 = DType::BFloat16,
                       float32 = DType::Float32, float64 = DType::Float64, string = DType::String,
                       resource = DType::Resource;

// The compiler's half type; g++ 12 knows _Float16 in C++ on x86 only.
#if defined(__aarch64__)
using NativeHalf = __fp16;
#else
using NativeHalf = _Float16;
#endif

// IEEE half precision; arithmetic happens in float.
struct Half {
  Half() = default;
  Half(float value) : value(static_cast<NativeHalf>(value)) {}
  operator float() const { return static_cast<float>(value); }
  NativeHalf value = 0;
};

// The upper half of a float, rounded to nearest even; arithmetic happens in float.
struct BFloat16 {
  BFloat16() = default;
  BFloat16(float value) {
    auto bits_of_value = std::bit_cast<std::uint32_t>(value);
    if ((bits_of_value & 0x7fffffffu) > 0x7f800000u) {  // NaN stays NaN whatever its payload
      bits = static_cast<std::uint16_t>((bits_of_value >> 16) | 0x40u);
    } else {
      bits = static_cast<std::uint16_t>((bits_of_value + 0x7fffu + ((bits_of_value >> 16) & 1u)) >> 16);
    }
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  std::uint16_t bits = 0;
};

// Bytes of one element; 0 for String and Resource, whose elements are host objects.
std::size_t size_of(DType dtype);
// Keras's name: "float32", "int64", "bool", ...
const char* to_string(DType dtype);
// The type of that name; throws for an unknown one.
DType dtype_from_string(std::string_view name);
std::ostream& operator<<(std::ostream& out, DType dtype);

// True for float16, bfloat16, float32 and float64.
constexpr bool is_floating(DType d) {
  return d == DType::Float16 || d == DType::BFloat16 || d == DType::Float32 || d == DType::Float64;
}
// True for uint8, int8, int32 and int64.
constexpr bool is_integer(DType d) {
  return d == DType::UInt8 || d == DType::Int8 || d == DType::Int32 || d == DType::Int64;
}
// True for floating and integer types.
constexpr bool is_number(DType d) { return is_floating(d) || is_integer(d); }
// True for types whose elements are plain bytes that may be copied to a device.
constexpr bool is_plain(DType d) { return d != DType::String && d != DType::Resource; }
// The type Keras computes in when two types meet.
DType promote(DType a, DType b);

// The DType of a C++ type, as DTypeOf<T>::value.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::Bool;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::UInt8;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::Int8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::Int32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::Int64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::Float16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::BFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::Float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::Float64;
};
template <>
struct DTypeOf<std::string> {
  static constexpr DType value = DType::String;
};
// The DType of a C++ type.
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// Calls `visit(T{})` with the C++ type of `dtype`; only for the plain types.
template <class Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::Bool:
      return visit(bool{});
    case DType::UInt8:
      return visit(std::uint8_t{});
    case DType::Int8:
      return visit(std::int8_t{});
    case DType::Int32:
      return visit(std::int32_t{});
    case DType::Int64:
      return visit(std::int64_t{});
    case DType::Float16:
      return visit(Half{});
    case DType::BFloat16:
      return visit(BFloat16{});
    case DType::Float64:
      return visit(double{});
    default:
      return visit(float{});
  }
}

}  // namespace cohort
