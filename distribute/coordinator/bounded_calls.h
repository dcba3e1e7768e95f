#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

// Calls to many tasks at once that end in time, whatever the tasks do. Used by one thread at a time.
class BoundedCalls {
 public:
  using Work = std::function<void(std::size_t task, rpc::Stream& stream)>;

  BoundedCalls(std::vector<rpc::Peer> tasks, rpc::TransportOptions options);
  const std::vector<rpc::Peer>& tasks() const { return tasks_; }
  // Does the work with a stream to each task, on a thread for each; a stream whose time is up is cancelled. Returns for
  // each why it could not be done, in words for a terminal; empty: it was. Ways to tasks are kept for the next time.
  std::vector<std::string> run(std::chrono::milliseconds longest, const Work& work);

 private:
  const std::vector<rpc::Peer> tasks_;
  const rpc::TransportOptions options_;
  std::vector<std::shared_ptr<rpc::Connection>> connections_;
};

// What could move a terminal's cursor becomes a question mark.
std::string printable(std::string text);

}  // namespace cohort::distribute
