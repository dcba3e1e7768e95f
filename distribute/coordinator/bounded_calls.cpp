#include "cohort/distribute/coordinator/bounded_calls.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "cohort/distribute/coordinator/side_by_side.h"

namespace cohort::distribute {

std::string printable(std::string text) {
  const auto moves_cursor = [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; };
  std::replace_if(text.begin(), text.end(), moves_cursor, '?');
  return text;
}

// Cancels streams once their time is up.
class BoundedCalls::Timer {
 public:
  Timer(std::size_t tasks, std::chrono::milliseconds longest)
      : streams_(tasks), until_(std::chrono::steady_clock::now() + longest), thread_([this] { wait(); }) {}
  ~Timer() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void watch(std::size_t task, const std::shared_ptr<rpc::Stream>& stream) {
    std::lock_guard lock(mutex_);
    if (late_) stream->cancel();
    streams_[task] = stream;
  }
  bool late() {
    std::lock_guard lock(mutex_);
    return late_;
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, until_, [this] { return over_; })) return;
    late_ = true;
    for (const auto& stream : streams_) {
      if (stream) stream->cancel();
    }
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool over_ = false, late_ = false;
  std::vector<std::shared_ptr<rpc::Stream>> streams_;
  const std::chrono::steady_clock::time_point until_;
  std::thread thread_;
};

BoundedCalls::BoundedCalls(std::vector<rpc::Peer> tasks, rpc::TransportOptions options)
    : tasks_(std::move(tasks)), options_(std::move(options)), connections_(tasks_.size()) {}

std::vector<std::string> BoundedCalls::run(std::chrono::milliseconds longest, const Work& work) {
  std::vector<std::string> problems(tasks_.size());
  rpc::TransportOptions options = options_;
  options.connect_timeout = std::min(options.connect_timeout, longest);
  Timer timer(tasks_.size(), longest);
  side_by_side(tasks_.size(), [&](std::size_t index) {
    std::shared_ptr<rpc::Connection>& connection = connections_[index];
    try {
      if (!connection || !connection->alive()) connection = rpc::connect(tasks_[index], options);
      const std::shared_ptr<rpc::Stream> stream = connection->open();
      timer.watch(index, stream);
      work(index, *stream);
      return;
    } catch (const rpc::RpcError& error) {
      char late[64];
      std::snprintf(late, sizeof late, "no answer within %.1f s", static_cast<double>(longest.count()) * 1e-3);
      problems[index] = timer.late() ? late : printable(error.reason());
      connection.reset();
    } catch (const std::exception& error) {
      problems[index] = printable(error.what());
    }
    if (problems[index].empty()) problems[index] = "no reason given";
  });
  return problems;
}

}  // namespace cohort::distribute
