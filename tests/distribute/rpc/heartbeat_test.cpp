// Heartbeats have a path of their own: neither long work nor much of it keeps them back.
#include <grpcpp/alarm.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "cohort/distribute/rpc/serving_threads.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/peer_process.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/patience.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using cohort::test::patience;
using Clock = std::chrono::steady_clock;

std::uint64_t milliseconds_now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count());
}

// Takes long over requests, one at a time where it is told so, although it calls them quick. Heartbeats tell its time.
class SlowService : public Service {
 public:
  explicit SlowService(std::chrono::milliseconds takes, bool one_at_a_time) : takes_(takes), lock_(one_at_a_time) {}
  void handle(const Message& request, Message& reply) override {
    reply.parts = request.parts;
    if (request.head.method == Method::Echo) return;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (lock_) lock.lock();
    std::this_thread::sleep_for(takes_);
    ++handled;
  }
  bool is_quick(const Message&) const override { return true; }
  std::uint64_t progress(std::uint64_t) const override { return milliseconds_now(); }

  std::atomic<int> handled = 0;

 private:
  const std::chrono::milliseconds takes_;
  const bool lock_;
  std::mutex mutex_;
};

Message slow_request() {
  Message request;
  request.head.method = Method::Exchange;
  request.parts = {Tensor::full({100}, 1)};
  return request;
}

// Ends its calls and joins them when it goes.
class Callers {
 public:
  void add(std::function<void()> call) {
    threads_.emplace_back([this, call = std::move(call)] {
      while (!over_) call();
    });
  }
  ~Callers() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::vector<std::thread> threads_;
};

// How old the newest heartbeat of any of them has become, in milliseconds, while somebody watched.
std::uint64_t longest_gap(const std::vector<std::shared_ptr<Connection>>& connections, std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  std::uint64_t longest = 0;
  while (Clock::now() < end) {
    for (const auto& connection : connections) {
      const std::uint64_t now = milliseconds_now();
      longest = std::max(longest, now - std::min(now, connection->progress()));
      EXPECT_TRUE(connection->alive());
    }
    std::this_thread::sleep_for(5ms);
  }
  return longest;
}

TEST(Heartbeats, ComeWhileRequestsThatShouldBeQuickTakeLong) {
  SlowService service(200ms, /*one_at_a_time=*/true);
  Listener listener("127.0.0.1:0", service, "ps:0");
  const TransportOptions options{.transport = "grpc", .heartbeat = 100ms};
  std::vector<std::shared_ptr<Connection>> connections;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i) connections.push_back(connect({"ps:0", listener.address()}, options));
  for (int i = 0; i < 12; ++i) streams.push_back(connections[i % 4]->open());
  Callers callers;
  for (const auto& stream : streams) {
    callers.add([&stream] {
      Message reply;
      stream->call(slow_request(), reply);
    });
  }
  EXPECT_LT(longest_gap(connections, 2000ms), 1000u);
  EXPECT_GT(service.handled, 3);
}

TEST(Heartbeats, ComeWhileALargeReplyWaitsToBeTaken) {
  SlowService service(0ms, false);
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto connection = connect({"ps:0", listener.address()}, {.transport = "grpc", .heartbeat = 100ms});
  auto stream = connection->open();
  Message request, reply;
  request.parts = {Tensor::full({20'000'000}, 1)};
  stream->send(request);
  EXPECT_LT(longest_gap({connection}, 1000ms), 900u);
  stream->receive(reply);
  EXPECT_EQ(reply.parts.at(0).bytes(), request.parts[0].bytes());
}

TEST(Heartbeats, AreAskedForAsOftenAsTheCallerSays) {
  SlowService service(0ms, false);
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto connected = [&](std::chrono::milliseconds heartbeat) {
    return connect({"ps:0", listener.address()}, {.transport = "grpc", .heartbeat = heartbeat, .dead_after = 60s});
  };
  const auto often = connected(30ms), seldom = connected(20s);
  const std::uint64_t first = seldom->progress(), often_first = often->progress();
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(seldom->progress(), first);
  EXPECT_GT(often->progress(), often_first + 200);
}

TEST(QuickRequests, HoldUpNobodyWhenTheyAreNot) {
  SlowService service(patience(1500ms), false);
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto connection = connect({"ps:0", listener.address()}, {.transport = "grpc"});
  auto stream = connection->open(), slow = connection->open(), slow_too = connection->open();
  Message request, reply, slow_reply;
  stream->call(request, reply);
  const auto start = Clock::now();
  slow->send(slow_request());
  slow_too->send(slow_request());
  for (int i = 0; i < 20; ++i) stream->call(request, reply);
  EXPECT_LT(Clock::now() - start, patience(1000ms));
  EXPECT_EQ(service.handled, 0);
  slow->receive(slow_reply);
  slow_too->receive(slow_reply);
  EXPECT_EQ(service.handled, 2);
}

// A turn that is lent for long goes to another thread, and the one that had it finds out.
TEST(ServingThreads, GoOnWithoutTheOneThatIsHeldUp) {
  struct Event : QueueEvent {
    explicit Event(std::function<void(Turn&)> work) : work(std::move(work)) {}
    void happened(bool, Turn& turn) override { work(turn); }
    std::function<void(Turn&)> work;
  };
  for (const int turns : {1, 3}) {
    grpc::CompletionQueue events;
    std::atomic<int> done = 0, held_up = 0;
    std::atomic<bool> release = false;
    Event lent([&](Turn& turn) {
      turn.lend();
      ++held_up;
      while (!release) std::this_thread::sleep_for(1ms);
      ++done;
    });
    Event quick([&](Turn& turn) {
      turn.lend();
      ++done;
    });
    Event ended([&](Turn& turn) {
      turn.end();
      ++done;
    });
    ServingThreads threads(events, turns, /*most_threads=*/8);
    std::vector<std::unique_ptr<grpc::Alarm>> alarms;
    const auto put = [&](Event& event) {
      alarms.push_back(std::make_unique<grpc::Alarm>());
      alarms.back()->Set(&events, std::chrono::system_clock::now(), event.begin());
    };
    for (int i = 0; i < turns; ++i) put(lent);
    EXPECT_TRUE(rpc::test::comes_true([&] { return held_up == turns; }, 5s));
    for (int i = 0; i < 10; ++i) put(i % 2 ? quick : ended);
    EXPECT_TRUE(rpc::test::comes_true(
        [&] {
          threads.relieve();
          return done == 10;
        },
        5s));
    release = true;
    EXPECT_TRUE(rpc::test::comes_true([&] { return done == 10 + turns; }, 5s));
    for (int i = 0; i < 100; ++i) put(i % 2 ? quick : ended);
    EXPECT_TRUE(rpc::test::comes_true([&] { return done == 110 + turns; }, 5s));
    events.Shutdown();
  }
}

// Every worker has a link and a stream to every ps, all of them in this process and over the network.
void expect_heartbeats(int workers, int servers, std::chrono::milliseconds time) {
  std::vector<std::unique_ptr<SlowService>> services;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < servers; ++i) {
    const std::string task = "ps:" + std::to_string(i);
    services.push_back(std::make_unique<SlowService>(200ms, /*one_at_a_time=*/i == 0));
    listeners.push_back(std::make_unique<Listener>("127.0.0.1:0", *services.back(), task));
  }
  std::vector<std::vector<std::shared_ptr<Connection>>> connections(static_cast<std::size_t>(workers));
  {
    std::vector<std::thread> connecting;
    for (auto& links : connections) {
      connecting.emplace_back([&] {
        for (const auto& listener : listeners) {
          links.push_back(connect({"ps", listener->address()}, {.transport = "grpc", .connect_timeout = 30s}));
        }
      });
    }
    for (std::thread& thread : connecting) thread.join();
  }
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& links : connections) all.insert(all.end(), links.begin(), links.end());
  std::vector<std::vector<std::unique_ptr<Stream>>> streams(connections.size());
  Callers callers;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    for (const auto& link : connections[i]) streams[i].push_back(link->open());
    callers.add([&mine = streams[i]] {
      Message reply;
      for (const auto& stream : mine) stream->send(slow_request());
      for (const auto& stream : mine) stream->receive(reply);
    });
  }
  EXPECT_LT(longest_gap(all, time), 2000u);
  for (const auto& service : services) EXPECT_GT(service->handled, 0);
}

TEST(Heartbeats, ComeInAClusterOfManyTasksWhoseServersAreSlow) {
  const int more = cohort::test::kills_wanted(0);
  more > 0 ? expect_heartbeats(64, 16, 1s * more) : expect_heartbeats(16, 6, 2500ms);
}

TEST(Connection, KnowsThatAnIdlePeerWasKilledBeforeAnythingIsSent) {
  rpc::test::PeerProcess peer;
  const auto connection = connect({"worker:1", peer.address()}, {.heartbeat = 20s, .dead_after = 60s});
  auto stream = connection->open();
  Message request, reply;
  stream->call(request, reply);
  EXPECT_TRUE(connection->alive());
  peer.signal(SIGKILL);
  EXPECT_TRUE(rpc::test::comes_true([&] { return !connection->alive(); }, 500ms));
}

// A transfer that takes longer than dead_after is no silence.
TEST(Connection, HoldsWhileMuchIsOnItsWay) {
  rpc::test::PeerProcess peer;
  const auto connection = connect({"worker:1", peer.address()}, {.heartbeat = 100ms, .dead_after = 500ms});
  auto stream = connection->open();
  Message request, reply;
  request.parts = {Tensor::full({100'000'000}, 1)};  // 400 MB there and back
  stream->call(request, reply);
  EXPECT_EQ(reply.parts.at(0).bytes(), request.parts[0].bytes());
  EXPECT_TRUE(connection->alive());
}

}  // namespace
}  // namespace cohort::distribute::rpc
