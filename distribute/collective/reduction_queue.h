#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/core/timeline.h"

namespace cohort::distribute {

// Reductions that the replicas of a process have begun and wait for later. They are carried out one at a time, in order
// and when all replicas have begun them: by a thread of its own where there is one, else by the first replica when it
// waits. That one does not leave to the thread what the thread has not begun: it has nothing else to do.
class ReductionQueue {
 public:
  // One reduction, in place.
  struct Job {
    std::vector<Collective::Part> parts;
    Collective::Reduction reduction = Collective::Reduction::Sum;
    std::vector<std::vector<void*>> values;  // by replica
    std::vector<bool> waited;                // by replica: it has been waited for
    int begun = 0;                           // replicas
    bool done = false;
    std::exception_ptr error;
    std::string failure;                 // what the error says
    std::shared_ptr<TimelineLane> lane;  // of the first replica's timeline, if it has one
  };
  using CarryOut = std::function<void(Job&)>;

  // Of so many replicas.
  //   carry_out: called by one thread at a time, without a lock.
  ReductionQueue(int replicas, bool has_thread, CarryOut carry_out);
  ~ReductionQueue();
  ReductionQueue(const ReductionQueue&) = delete;

  // Begins a replica's next reduction; its number.
  std::uint64_t start(int replica, std::span<const Collective::Part> parts, void* const* values,
                      Collective::Reduction reduction = Collective::Reduction::Sum);
  // Waits for the replica's oldest one, and throws what went wrong with it.
  void wait(int replica, const void* const* values);
  // The same for one of this number.
  void wait_for(int replica, std::uint64_t number);
  // Whether the replica has begun something and not waited for it.
  bool has_begun(int replica) const;
  // Waits, also those to come, end with an error of this text: a replica has failed. From any thread.
  void abort(const std::string& reason);
  // Takes back what the replica has begun; what is being carried out has ended when it returns. Only after abort(), and
  // when whatever it waits for has been ended as well.
  void abandon(int replica) noexcept;
  // Forgets all, when no replica is in it.
  void reset();

 private:
  // What a replica has done.
  struct Seat {
    std::uint64_t begun = 0;   // reductions
    std::uint64_t waited = 0;  // all before this number have been waited for
  };
  using Lock = std::unique_lock<std::mutex>;

  Job& job(std::uint64_t number) { return *jobs_[number % jobs_.size()]; }
  Job& job_to_begin(std::uint64_t number);
  bool is_ready();
  void carry_next(Lock& lock);
  void settle(int replica, std::uint64_t number);
  std::string missing(std::uint64_t number) const;
  void throw_if_aborted() const;
  void serve();

  const int replicas_;
  const CarryOut carry_out_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_, work_;
  std::vector<std::unique_ptr<Job>> jobs_;  // by number, which are used again
  std::vector<Seat> seats_;
  std::uint64_t next_ = 0;  // to be carried out
  bool carrying_ = false, stopping_ = false;
  int sleepers_ = 0;
  std::optional<std::string> aborted_;  // why
  std::thread thread_;
};

}  // namespace cohort::distribute
