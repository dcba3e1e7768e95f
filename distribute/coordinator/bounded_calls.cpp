#include "cohort/distribute/coordinator/bounded_calls.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cohort/distribute/coordinator/side_by_side.h"
#include "cohort/distribute/rpc/stream_deadlines.h"

namespace cohort::distribute {

std::string printable(std::string text) {
  const auto moves_cursor = [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; };
  std::replace_if(text.begin(), text.end(), moves_cursor, '?');
  return text;
}

BoundedCalls::BoundedCalls(std::vector<rpc::Peer> tasks, rpc::TransportOptions options)
    : tasks_(std::move(tasks)), options_(std::move(options)), connections_(tasks_.size()) {}

std::vector<std::string> BoundedCalls::run(std::chrono::milliseconds longest, const Work& work) {
  std::vector<std::string> problems(tasks_.size());
  rpc::TransportOptions options = options_;
  options.connect_timeout = std::min(options.connect_timeout, longest);
  using Clock = rpc::StreamDeadlines::Clock;
  const Clock::time_point until = Clock::now() + longest;
  rpc::StreamDeadlines deadlines;
  side_by_side(tasks_.size(), [&](std::size_t index) {
    std::shared_ptr<rpc::Connection>& connection = connections_[index];
    try {
      if (!connection || !connection->alive()) connection = rpc::connect(tasks_[index], options);
      const std::shared_ptr<rpc::Stream> stream = connection->open();
      deadlines.watch(until, stream);
      work(index, *stream);
      return;
    } catch (const rpc::RpcError& error) {
      char late[64];
      std::snprintf(late, sizeof late, "no answer within %.1f s", static_cast<double>(longest.count()) * 1e-3);
      problems[index] = Clock::now() >= until ? late : printable(error.reason());
      connection.reset();
    } catch (const std::exception& error) {
      problems[index] = printable(error.what());
    }
    if (problems[index].empty()) problems[index] = "no reason given";
  });
  return problems;
}

}  // namespace cohort::distribute
