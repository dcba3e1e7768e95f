#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort {

// CRC-32C (Castagnoli) of bytes, by the processor's own instruction where it has one.
std::uint32_t crc32c(std::string_view bytes);
// The sum of bytes that follow others whose sum is `before`.
std::uint32_t crc32c_extend(std::uint32_t before, const void* bytes, std::size_t count);
// Copies the bytes to `target` on the way: hardly slower than the sum alone.
std::uint32_t crc32c_copy(std::uint32_t before, void* target, const void* bytes, std::size_t count);
// crc32c_extend without the processor's help: what machines without the instruction run.
std::uint32_t crc32c_extend_portable(std::uint32_t before, const void* bytes, std::size_t count);

}  // namespace cohort
