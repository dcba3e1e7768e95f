#include "cohort/distribute/collective/packed_reduction.h"

#include <array>
#include <cstring>

namespace cohort::distribute {
namespace {

// From here on a tensor is worth a call of its own: copying it costs more than the call.
constexpr std::size_t kLarge = 256 << 10;
constexpr std::array kSummed = {DType::Float32,  DType::Float64, DType::Float16,
                                DType::BFloat16, DType::Int32,   DType::Int64};

}  // namespace

std::size_t bytes_of_part(const Collective::Part& part) {
  return static_cast<std::size_t>(part.elements) * size_of(part.dtype);
}

void PackedReduction::reduce(std::span<const Collective::Part> parts, void* const* values,
                             Collective::Reduction reduction) {
  for (const DType dtype : kSummed) reduce_packed(dtype, parts, values, reduction);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (bytes_of_part(parts[i]) >= kLarge) reduce_values(values[i], parts[i].elements, parts[i].dtype, reduction);
  }
}

void PackedReduction::reduce_packed(DType dtype, std::span<const Collective::Part> parts, void* const* values,
                                    Collective::Reduction reduction) {
  const auto each_small = [&](const auto& visit) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t bytes = bytes_of_part(parts[i]);
      if (parts[i].dtype != dtype || bytes >= kLarge) continue;
      visit(values[i], offset, bytes);
      offset += bytes;
    }
    return offset;
  };
  const std::size_t all = each_small([](void*, std::size_t, std::size_t) {});
  if (all == 0) return;
  if (!pack_ || pack_->bytes() < all) pack_ = Buffer::allocate(cpu(), all);
  auto* const pack = static_cast<std::byte*>(pack_->data());
  each_small([&](void* value, std::size_t offset, std::size_t bytes) { std::memcpy(pack + offset, value, bytes); });
  reduce_values(pack, static_cast<std::int64_t>(all / size_of(dtype)), dtype, reduction);
  each_small([&](void* value, std::size_t offset, std::size_t bytes) { std::memcpy(value, pack + offset, bytes); });
}

void PackedReduction::reduce_values(void* values, std::int64_t count, DType dtype, Collective::Reduction reduction) {
  if (reduction == Collective::Reduction::First) return workers_.broadcast(values, count, dtype);
  workers_.all_reduce(values, count, dtype);
}

}  // namespace cohort::distribute
