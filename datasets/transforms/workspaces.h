#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/core/thread_pool.h"

namespace cohort::datasets {

// What threads need while they read elements, lent to one of them at a time. As many as the pool has threads get their
// memory with the first: how many read at a time is a matter of timing, and a steady state allocates nothing.
// A Workspace has make_room_like(const Workspace&) and reserve(number of them in use at a time). Thread-safe.
template <class Workspace>
class Workspaces {
 public:
  explicit Workspaces(std::function<std::unique_ptr<Workspace>()> make) : make_(std::move(make)) {}

  // One thread's, while it lives.
  class Lease {
   public:
    explicit Lease(Workspaces& all) : all_(all), one_(all.take()) {}
    ~Lease() { all_.give_back(std::move(one_)); }
    Lease(const Lease&) = delete;
    Workspace* operator->() const { return one_.get(); }

   private:
    Workspaces& all_;
    std::unique_ptr<Workspace> one_;
  };

 private:
  std::unique_ptr<Workspace> take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(++made_);  // giving back asks for no memory
      return make_();
    }
    auto one = std::move(free_.back());
    free_.pop_back();
    return one;
  }
  void give_back(std::unique_ptr<Workspace> one) {
    std::lock_guard lock(mutex_);
    if (!has_room_) make_room_like(*one);
    free_.push_back(std::move(one));
  }
  void make_room_like(Workspace& first) {
    has_room_ = true;
    const auto threads = static_cast<std::size_t>(ThreadPool::instance().threads());
    first.reserve(threads);
    free_.reserve(threads);
    for (; made_ < threads; ++made_) {
      free_.push_back(make_());
      free_.back()->make_room_like(first);
    }
  }

  std::function<std::unique_ptr<Workspace>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
  std::size_t made_ = 0;
  bool has_room_ = false;
};

}  // namespace cohort::datasets
