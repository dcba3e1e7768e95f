#include "cohort/distribute/collective/exchange.h"

#include <cstring>

#include "cohort/distribute/collective/reduction.h"

namespace cohort::distribute::collective {

// To each rank what lies at `stride` times its number. Those behind this rank come first, so that not all ranks begin
// with the same one.
void Exchange::post_to_all(const std::byte* values, std::size_t bytes, std::size_t stride) {
  for (int step = 1; step < size(); ++step) {
    const int to = (rank_ + step) % size();
    channel(to).post(label_, {values + static_cast<std::size_t>(to) * stride, bytes}, deadline_);
  }
}

void Exchange::add_in_order(const std::byte* own, std::byte* sum, std::size_t bytes) {
  const std::size_t count = bytes / size_of(dtype_);
  // `sum` is `own` where it is made in place.
  thread_local std::vector<std::byte> kept;
  if (rank_ > 0) kept.assign(own, own + bytes);
  if (rank_ == 0 && sum != own && bytes > 0) std::memcpy(sum, own, bytes);
  for (int rank = rank_ == 0 ? 1 : 0; rank < size(); ++rank) {
    if (rank == rank_) {
      add(dtype_, sum, kept.data(), sum, count);
    } else if (rank == 0) {
      channel(rank).receive(label_, {sum, bytes}, deadline_);
    } else {
      channel(rank).receive_and_add(label_, dtype_, {sum, bytes}, deadline_);
    }
  }
}

void Exchange::all_reduce(std::byte* values, std::size_t bytes) {
  post_to_all(values, bytes, 0);
  add_in_order(values, values, bytes);
}

void Exchange::reduce_scatter(const std::byte* all, std::byte* mine, std::size_t bytes) {
  post_to_all(all, bytes, bytes);
  add_in_order(all + static_cast<std::size_t>(rank_) * bytes, mine, bytes);
}

void Exchange::all_gather(std::byte* all, std::size_t bytes) {
  post_to_all(all + static_cast<std::size_t>(rank_) * bytes, bytes, 0);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == rank_) continue;
    channel(rank).receive(label_, {all + static_cast<std::size_t>(rank) * bytes, bytes}, deadline_);
  }
}

void Exchange::broadcast(std::byte* values, std::size_t bytes, int root) {
  if (rank_ == root) {
    post_to_all(values, bytes, 0);
  } else {
    channel(root).receive(label_, {values, bytes}, deadline_);
  }
}

void Exchange::barrier() {
  post_to_all(nullptr, 0, 0);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_) channel(rank).receive(label_, {}, deadline_);
  }
}

}  // namespace cohort::distribute::collective
