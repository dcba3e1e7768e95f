#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// How long a request is sent again.
struct RetryBudget {
  // Without any sign of life from the task; every one begins it anew.
  std::chrono::milliseconds silence{10'000};
  // While nobody listens at the task's address.
  std::chrono::milliseconds refused{500};
  // Asked whenever a request has failed: true when nobody wants its reply any more.
  std::function<bool()> given_up = {};
  // Counts what is sent again, where it is given; outlives the stream.
  std::atomic<std::uint64_t>* repeats = nullptr;
};

// A way to one task for requests that the task de-duplicates: a request is sent again, the same to the letter, when no
// reply came in time or the connection broke, until it is answered or the budget is spent. One request is under way at
// a time; send() and receive() are apart so that requests to several tasks overlap. Used by one thread at a time, but
// cancel() is for any.
class ReliableStream {
 public:
  ReliableStream(std::shared_ptr<Connection> connection, RetryBudget budget);
  // Connects when the first request is sent, again and again as with any request.
  ReliableStream(Peer peer, TransportOptions options, RetryBudget budget);

  // Gives the request its sequence, unique in this process, and hands it over. What its parts point to must not change
  // until the reply is there. Throws only for parts that cannot travel.
  void send(Message& request);
  // Waits for the reply. Throws what the task threw, or the last RpcError when it gives up.
  void receive(Message& reply);
  void call(Message& request, Message& reply) {
    send(request);
    receive(reply);
  }
  // Whoever waits gets an RpcError, and so does everyone after.
  void cancel();
  const Peer& peer() const { return peer_; }
  // How often a request was sent again so far.
  std::uint64_t repeats() const { return repeats_; }

 private:
  using Clock = std::chrono::steady_clock;
  void send_again(bool reopen);
  void pause();
  bool is_spent(const RpcError& error);
  [[noreturn]] void throw_cancelled() const;

  const Peer peer_;
  const TransportOptions options_;
  const RetryBudget budget_;
  std::shared_ptr<Connection> connection_;  // none before the first request
  std::mutex mutex_;                        // over changes of stream_, for cancel()
  std::unique_ptr<Stream> stream_;
  std::atomic<bool> cancelled_ = false;
  Message request_;  // in flight; its parts are let go with the reply
  bool under_way_ = false, sent_ = false;
  Clock::time_point start_, last_heard_;  // of the request in flight
  Clock::time_point refused_since_;       // the clock's zero: not refused
  std::chrono::milliseconds next_pause_{0};
  std::uint64_t repeats_ = 0;
};

}  // namespace cohort::distribute::rpc
