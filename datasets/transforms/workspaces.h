#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/core/thread_pool.h"
#include "cohort/datasets/transforms/reader_threads.h"

namespace cohort::datasets {

// What threads need while they read elements, lent to one of them at a time. As many as may read at a time get their
// memory with the first: how many do is a matter of timing, and a steady state allocates nothing.
// A Workspace has make_room_like(const Workspace&) and reserve(number of them in use at a time). Thread-safe.
template <class Workspace>
class Workspaces {
 public:
  //   blocks: as IndexedElements::blocks(): reader threads use them, otherwise the pool's.
  explicit Workspaces(std::function<std::unique_ptr<Workspace>()> make, bool blocks = false)
      : make_(std::move(make)), blocks_(blocks) {}

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
    const std::size_t threads = blocks_ ? ReaderThreads::instance().most() + 1  // with whoever waits for them
                                        : static_cast<std::size_t>(ThreadPool::instance().threads());
    first.reserve(threads);
    free_.reserve(threads);
    for (; made_ < threads; ++made_) {
      free_.push_back(make_());
      free_.back()->make_room_like(first);
    }
  }

  std::function<std::unique_ptr<Workspace>()> make_;
  const bool blocks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
  std::size_t made_ = 0;
  bool has_room_ = false;
};

}  // namespace cohort::datasets
