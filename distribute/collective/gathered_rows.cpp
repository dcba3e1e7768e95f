#include "cohort/distribute/collective/gathered_rows.h"

#include <algorithm>

namespace cohort::distribute {

bool GatheredRows::gather(const Collective::Rows& types, std::span<const Collective::Rows> brought, std::int64_t most) {
  all_.assign(brought.begin(), brought.end());
  std::int64_t here = 0;
  for (const Collective::Rows& rows : brought) here += rows.count;
  return workers_ ? gather_over_workers(types, here, most) : here <= most;
}

bool GatheredRows::gather_over_workers(const Collective::Rows& types, std::int64_t here, std::int64_t most) {
  const auto workers = static_cast<std::size_t>(workers_->size()), own = static_cast<std::size_t>(workers_->rank());
  counts_.resize(workers);
  workers_->all_gather(&here, counts_.data(), 1, DType::Int64);
  const auto [fewest, largest] = std::minmax_element(counts_.begin(), counts_.end());
  if (*fewest < 0 || *largest > most / workers_->size()) return false;
  const auto rows = static_cast<std::size_t>(*largest);
  const std::size_t bytes_of_row = static_cast<std::size_t>(types.elements) * size_of(types.dtype);
  const std::size_t bytes_of_index = size_of(types.index_dtype);
  values_.resize(std::max(values_.size(), workers * rows * bytes_of_row));
  indices_.resize(std::max(indices_.size(), workers * rows * bytes_of_index));
  std::byte* const own_values = values_.data() + own * rows * bytes_of_row;
  std::byte* const own_indices = indices_.data() + own * rows * bytes_of_index;
  std::byte *values = own_values, *indices = own_indices;
  for (const Collective::Rows& brought : all_) {
    const auto count = static_cast<std::size_t>(brought.count);
    if (count == 0) continue;
    values = std::copy_n(static_cast<const std::byte*>(brought.values), count * bytes_of_row, values);
    indices = std::copy_n(static_cast<const std::byte*>(brought.indices), count * bytes_of_index, indices);
  }
  all_.clear();
  if (rows == 0) return true;
  workers_->all_gather(own_values, values_.data(), *largest * types.elements, types.dtype);
  workers_->all_gather(own_indices, indices_.data(), *largest, types.index_dtype);
  for (std::size_t i = 0; i < workers; ++i) {
    all_.push_back(types);
    all_.back().count = counts_[i];
    all_.back().values = values_.data() + i * rows * bytes_of_row;
    all_.back().indices = indices_.data() + i * rows * bytes_of_index;
  }
  return true;
}

}  // namespace cohort::distribute
