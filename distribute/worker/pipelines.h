#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cohort/data/dataset.h"
#include "cohort/distribute/protocol/lease.h"
#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/worker/constant_store.h"
#include "cohort/files/data_root.h"

namespace cohort::distribute {

// One pipeline of a dataset as it stands on this worker. Not thread-safe.
class Pipeline {
 public:
  using Clock = std::chrono::steady_clock;

  // `beginning` is the position before the first element; empty: where a new iterator stands.
  //   now: by which it finds out what takes longer.
  explicit Pipeline(Dataset dataset, std::string beginning = {}, std::function<Clock::time_point()> now = Clock::now)
      : dataset_(std::move(dataset)), beginning_(std::move(beginning)), now_(std::move(now)) {}
  // Stands before the lease's first element; false when the pass ends before it. On a long way there `go_on` is called
  // now and then: what it throws ends the walk.
  bool seek(const Lease& lease, const std::function<void()>& go_on = {});
  // The next element's tensors; false at the end of the pass.
  bool next(Tensors& element);
  // Its position, where the pipeline can say it.
  std::string save() const;

 private:
  // What getting somewhere takes, from what it took before; until then it is not known.
  struct Cost {
    std::optional<double> seconds;
    void add(double measured);
  };

  double seconds_since(Clock::time_point start) const;
  void restart();
  // Whether the lease's position is reached sooner from its state than from where the pipeline stands before it.
  bool state_is_nearer(const Lease& lease) const;
  bool walk_to(const Lease& lease, const std::function<void()>& go_on);

  Dataset dataset_;
  std::unique_ptr<DatasetIterator> iterator_;
  std::string beginning_;  // the position before the first element of the first pass
  std::function<Clock::time_point()> now_;
  std::uint64_t rewinds_ = 0, position_ = 0;
  bool lost_ = false;                // an error has left it at no particular element
  Cost skip_;                        // of one element
  Cost restore_, next_;              // of one call
  std::optional<double> sought_in_;  // seconds of the last seek, until the first element behind it has come
  std::uint64_t passed_ = 0;         // elements that it skipped; 0: it restored a state
};

// The pipelines of a job that a worker has been told of. Thread-safe.
class Pipelines {
 public:
  //   data_roots: where their sources may read files; nullptr: everywhere.
  explicit Pipelines(ConstantStore& constants, std::shared_ptr<const DataRoots> data_roots = nullptr)
      : constants_(constants), data_roots_(std::move(data_roots)) {}
  void create(const Request<Method::CreatePipeline>& request, Reply<Method::CreatePipeline>& reply);
  // Whoever has it may use it on when it is released.
  std::shared_ptr<Pipeline> find(int dataset, int pipeline);
  void release(const proto::ReleaseProto& releases);
  void release_all();

 private:
  struct Entry {
    std::shared_ptr<Pipeline> pipeline;
    HeldConstants constants;
  };
  using Entries = std::map<std::pair<int, int>, Entry>;

  ConstantStore& constants_;
  const std::shared_ptr<const DataRoots> data_roots_;
  std::mutex mutex_;
  Entries pipelines_;
};

}  // namespace cohort::distribute
