#pragma once

namespace cohort {

// While it lives, a job of its thread has at most that many threads of the pool, the thread itself included: several
// callers of one process (workers of a cluster) keep to cores of their own. Shares nest, and the smaller one holds; a
// job's blocks that call the pool in turn have their job's share.
class ThreadShare {
 public:
  // 0: as many as there are.
  explicit ThreadShare(int threads);
  ~ThreadShare();
  ThreadShare(const ThreadShare&) = delete;

 private:
  int before_;
};

}  // namespace cohort
