#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "cohort/distribute/protocol/members.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute {

// A thread that asks the task which keeps the book of members for changes. What it cannot reach it asks again: that a
// ps is lost others find out.
class MemberWatch {
 public:
  // `changed` is called by the thread.
  //   known: the generation of what is known already.
  MemberWatch(rpc::Peer keeper, rpc::TransportOptions options, std::uint64_t known,
              std::function<void(const MemberList&)> changed);
  // Waits for a call of `changed` to end.
  ~MemberWatch();
  MemberWatch(const MemberWatch&) = delete;

 private:
  void run();
  MemberList ask();

  const rpc::Peer keeper_;
  const rpc::TransportOptions options_;
  const std::function<void(const MemberList&)> changed_;
  std::uint64_t known_;
  std::shared_ptr<rpc::Connection> connection_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable stop_;
  bool stopping_ = false;
  std::shared_ptr<rpc::Stream> stream_;  // changed by the thread alone
  std::thread thread_;
};

}  // namespace cohort::distribute
