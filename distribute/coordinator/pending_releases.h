#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace cohort::proto {
class ReleaseProto;
}

namespace cohort::distribute {

// What a task is to be told to let go of.
struct Releases {
  std::vector<int> datasets = {};
  std::vector<std::uint64_t> functions = {};
  std::vector<std::string> variables = {};

  bool empty() const { return datasets.empty() && functions.empty() && variables.empty(); }
};
// As the task hears of them.
proto::ReleaseProto describe_releases(const Releases& releases);

// What the chief has let go of and tasks have not been told of yet. Destructors note it, without waiting for anybody;
// each task hears of it with the next message that it is sent anyway. Thread-safe.
class PendingReleases {
 public:
  PendingReleases(std::size_t workers, std::size_t ps) : workers_(workers), ps_(ps) {}

  // Nothing is queued or in flight that takes elements of the dataset.
  void dataset(int number) noexcept;
  // Nothing is queued or in flight that runs the function.
  void function(std::uint64_t handle) noexcept;
  // Somebody on the chief names a variable of a ps (of every ps: a negative number), and does so no longer. The last
  // one to go releases it; functions that use it keep it.
  void variable_named(const std::string& name);
  void variable_unnamed(const std::string& name, int ps) noexcept;

  // What one task is to be told.
  class Task {
    friend class PendingReleases;
    std::atomic<bool> any = false;  // so that a look costs nothing where there is nothing
    Releases releases;
  };
  // Another worker; it needs no word of what was let go of before it came.
  void add_worker();
  // Lives as long as this.
  Task& worker(std::size_t index);
  // Takes what a task is to be told.
  Releases take(Task& task);
  Releases take_for_worker(std::size_t index) { return take(worker(index)); }
  Releases take_for_ps(std::size_t index) { return take(ps_[index]); }
  // It could not be told after all.
  void put_back_for_ps(std::size_t index, Releases releases) noexcept;

 private:
  template <class Add>
  static void note(Task& task, const Add& add) noexcept;

  std::mutex mutex_;  // guards the releases and names
  std::deque<Task> workers_;
  std::vector<Task> ps_;
  std::unordered_map<std::string, int> names_;  // of variables: how many name each
};

}  // namespace cohort::distribute
