#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cohort/data/dataset.h"
#include "cohort/distribute/protocol/lease.h"
#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/worker/constant_store.h"

namespace cohort::distribute {

// One pipeline of a dataset as it stands on this worker. Not thread-safe.
class Pipeline {
 public:
  // `beginning` is the position before the first element; empty: where a new iterator stands.
  explicit Pipeline(Dataset dataset, std::string beginning = {})
      : dataset_(std::move(dataset)), beginning_(std::move(beginning)) {}
  // Stands before the lease's first element; false when the pass ends before it. On a long way there `go_on` is called
  // now and then: what it throws ends the walk.
  bool seek(const Lease& lease, const std::function<void()>& go_on = {});
  // The next element's tensors; false at the end of the pass.
  bool next(Tensors& element);
  // Its position, where the pipeline can say it.
  std::string save() const;

 private:
  void restart();
  bool walk_to(const Lease& lease, const std::function<void()>& go_on);

  Dataset dataset_;
  std::unique_ptr<DatasetIterator> iterator_;
  std::string beginning_;  // the position before the first element of the first pass
  std::uint64_t rewinds_ = 0, position_ = 0;
};

// The pipelines of a job that a worker has been told of. Thread-safe.
class Pipelines {
 public:
  explicit Pipelines(ConstantStore& constants) : constants_(constants) {}
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
  std::mutex mutex_;
  Entries pipelines_;
};

}  // namespace cohort::distribute
