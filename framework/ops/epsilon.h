#pragma once

namespace cohort {

// What Keras adds before it divides or takes a logarithm: its backend.epsilon().
inline constexpr double kEpsilon = 1e-7;

}  // namespace cohort
