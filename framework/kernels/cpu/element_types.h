#pragma once

#include <type_traits>

#include "cohort/core/dtype.h"
#include "cohort/kernels/functors.h"

namespace cohort::kernels {

// What arithmetic on elements of type T happens in: float for the 16-bit floats.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Whether a functor with these types takes T.
template <fn::Types types, class T>
inline constexpr bool accepts = types == fn::Types::All      ? true
                                : types == fn::Types::Bool   ? std::is_same_v<T, bool>
                                : types == fn::Types::Number ? !std::is_same_v<T, bool>
                                                             : std::is_floating_point_v<Compute<T>>;

}  // namespace cohort::kernels
