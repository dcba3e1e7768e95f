// Streams through sockets of their own: who gets one, what a hostile side may send there, and what ends with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "cohort/distribute/rpc/backoff.h"
#include "cohort/distribute/rpc/connection_name.h"
#include "cohort/distribute/rpc/data_socket.h"
#include "cohort/distribute/rpc/socket_carrier.h"
#include "cohort/files/crc32c.h"
#include "tests/distribute/rpc/attackers.h"
#include "tests/distribute/rpc/forged_chunks.h"
#include "tests/distribute/rpc/handmade_stream.h"
#include "tests/distribute/rpc/handmade_task.h"
#include "tests/distribute/rpc/peer_process.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::rpc::test {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using namespace std::chrono_literals;

TEST(ConnectionName, IsReadAsGrpcWritesIt) {
  EXPECT_THAT(host_and_port_of_connection("ipv4:127.0.0.1:4242"), Pair("127.0.0.1", "4242"));
  EXPECT_THAT(host_and_port_of_connection("ipv6:%5B::1%5D:80"), Pair("::1", "80"));
  EXPECT_THAT(host_and_port_of_connection("ipv6:%5Bfe80::1%25eth0%5D:80"), Pair("fe80::1%eth0", "80"));
  for (const char* other : {"", "unix:/tmp/x", "ipv4:", "ipv4:1", "127.0.0.1:4242"}) {
    EXPECT_THAT(host_and_port_of_connection(other), Pair("", "")) << other;
  }
  EXPECT_EQ(name_of_connection("ipv6:%5B::1%5D:80"), "[::1]:80");
}

std::shared_ptr<Connection> connect_by_socket(const Listener& listener, std::shared_ptr<const Security> own = nullptr) {
  auto connection = connect({"ps:0", listener.address()}, {.transport = "tcp", .security = std::move(own)});
  EXPECT_STREQ(connection->transport(), "TCP");
  return connection;
}

// Messages of all sizes there and back: pieces of any number lie in any place.
void expect_echoes(Stream& stream) {
  for (const std::int64_t count : {0, 1, 1000, 300'000, 1'000'000, 5'000'000}) {
    Message request, reply;
    request.meta = std::string(static_cast<std::size_t>(count % 5000), 'm');
    request.parts = {Tensor::full({count}, 3), Tensor(), Tensor::full({7}, 4), Tensor::full({count, 1}, 5)};
    stream.call(request, reply);
    ASSERT_EQ(reply.parts.size(), 4u);
    EXPECT_EQ(reply.meta, request.meta);
    for (const std::size_t i : {0, 2, 3}) {
      ASSERT_EQ(reply.parts[i].shape(), request.parts[i].shape());
      EXPECT_EQ(std::memcmp(reply.parts[i].raw(), request.parts[i].raw(), request.parts[i].bytes()), 0);
    }
  }
}

TEST(SocketStream, CarriesMessagesOfAllSizes) {
  EchoService service;
  Listener plain("127.0.0.1:0", service, "ps:0");
  expect_echoes(*connect_by_socket(plain)->open());
  const cohort::test::ClusterCertificates certificates;
  const auto own = certificates.of("ps:0");
  Listener secured("127.0.0.1:0", service, "ps:0", {}, own.get());
  expect_echoes(*connect_by_socket(secured, certificates.of("worker:1"))->open());
}

TEST(SocketStream, GoesToAddressesOfBothKinds) {
  EchoService service;
  std::unique_ptr<Listener> listener;
  try {
    listener = std::make_unique<Listener>("[::1]:0", service, "ps:0");
  } catch (const Error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  Message request, reply;
  connect_by_socket(*listener)->open()->call(request, reply);
}

TEST(SocketStream, CarriesRepliesWhileRequestsStillWait) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto stream = connect_by_socket(listener)->open();
  Message request, reply;
  request.parts = {Tensor::full({2'000'000}, 1)};
  constexpr int kRequests = 12;  // more than the system keeps for both
  for (int i = 0; i < kRequests; ++i) stream->send(request);
  for (int i = 0; i < kRequests; ++i) {
    stream->receive(reply);
    EXPECT_EQ(reply.parts.at(0).num_elements(), 2'000'000);
  }
}

TEST(SocketStream, GivesWayToGrpcWhereTheTaskHasEnough) {
  EchoService service;
  Listener one("127.0.0.1:0", service, "ps:0", {.carried_streams = 1}),
      none("127.0.0.1:0", service, "ps:1", {.carried_streams = 0});
  Message request, reply;
  const auto connection = connect_by_socket(one);
  auto first = connection->open(), further = connection->open();
  first->call(request, reply);
  further->call(request, reply);
  const auto other = connect({"ps:1", none.address()}, {.transport = "tcp"});
  EXPECT_STREQ(other->transport(), "gRPC");
  other->open()->call(request, reply);
}

// The one that stands in the way goes at some time.
TEST(SocketStream, IsTriedAgainForLaterStreams) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.carried_streams = 1});
  auto only = connect_by_socket(listener)->open();
  const auto connection = connect({"ps:0", listener.address()}, {.transport = "tcp"});
  EXPECT_STREQ(connection->transport(), "gRPC");
  const auto before = connection->open();
  EXPECT_STREQ(before->transport(), "gRPC");
  expect_served(*before);
  only.reset();
  std::unique_ptr<Stream> later;
  EXPECT_TRUE(comes_true(
      [&] {
        later = connection->open();
        expect_served(*later);
        return later->transport() == std::string("TCP");
      },
      10s));
  EXPECT_STREQ(connection->transport(), "TCP");
  // Who finds no further one falls back alone.
  EXPECT_STREQ(connection->open()->transport(), "gRPC");
  expect_served(*later);
}

// Calls come through, and what asks for a socket is never answered, as behind a wall that lets but HTTP/2 pass.
TEST(SocketStream, CostsFewStreamsTheirPatienceWhereNoneComesAbout) {
  std::atomic<int> tries = 0;
  const HandmadeTask task([&](HandmadeTask::Call& call) {
    std::string said;
    if (call.method() == kHeartbeatMethod) {
      while (call.say(std::string(8, '\0'))) std::this_thread::sleep_for(50ms);
    } else {
      if (call.method() == kSocketMessagesMethod) ++tries;
      while (call.hear(said)) continue;
    }
  });
  const auto longest = cohort::test::patience(1000ms);
  const auto connection = connect({"ps:0", task.address()}, {.transport = "tcp", .connect_timeout = longest});
  EXPECT_STREQ(connection->transport(), "gRPC");
  EXPECT_EQ(tries.load(), 1);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_STREQ(connection->open()->transport(), "gRPC");
  const auto pauses = (std::chrono::steady_clock::now() - start) / (Backoff::kTimesLonger * longest);
  EXPECT_LE(tries.load(), 2 + pauses);
}

TEST(SocketStream, IsChosenWhereMemoryIsNotShared) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.shares_memory = false});
  // In a process of its own: in this one there is a shorter way.
  PeerProcess peer;
  Message request, reply;
  EXPECT_STREQ(connect({"worker:1", peer.address()}, {.transport = "auto"})->transport(), "shared memory");
  EXPECT_THAT(error_of([&] {
                connect({"ps:0", listener.address()}, {.transport = "shm"});
              }),
              StartsWith("FailedPrecondition ps:0"));
  EXPECT_STREQ(connect({"worker:1", peer.address()}, {.transport = "tcp"})->transport(), "TCP");
}

// A caller that sends what it likes.
class HostileSocket {
 public:
  explicit HostileSocket(const std::string& address) : call_(address, kSocketMessagesMethod), socket_(address) {
    EXPECT_TRUE(call_.hear(token_));
    EXPECT_EQ(token_.size(), kSocketTokenBytes) << "plain text has no key";
    socket_.say(std::string(kSocketMark) + token_ + "\1\1\1\1");  // ports that are not its own: sums are asked for
  }
  void say(const std::string& bytes) const { socket_.say(bytes); }
  const std::string& token() const { return token_; }
  grpc::Status status() {
    std::string more;
    EXPECT_FALSE(call_.hear(more));
    return call_.end();
  }

 private:
  HandmadeStream call_;
  RawCaller socket_;
  std::string token_;
};

// As chunk_of(), with the sum that it needs.
std::string summed(wire::ChunkHeader header, const std::string& payload) {
  header.crc = crc32c(std::string(reinterpret_cast<const char*>(&header) + wire::kUnsummedHeader,
                                  sizeof header - wire::kUnsummedHeader) +
                      payload);
  return chunk_of(header, payload);
}

TEST(SocketStream, RefusesWhateverAStrangerSendsAndServesOn) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto honest = connect_by_socket(listener)->open();
  const auto expect_refusal = [&](const char* why, const std::string& bytes) {
    HostileSocket stranger(listener.address());
    stranger.say(bytes);
    const grpc::Status status = stranger.status();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS) << why << ": " << status.error_message();
    expect_served(*honest);
  };
  expect_refusal("a chunk larger than chunks are", "\xff\xff\xff\xff");
  expect_refusal("a chunk of nothing", std::string(4, '\0'));
  expect_refusal("no mark", chunk_of({.magic = 1, .total = 200}, "payload"));
  expect_refusal("a message larger than the machine", chunk_of({.total = ~std::uint64_t{0}}, "payload"));
  expect_refusal("a wrong sum", chunk_of({.crc = 1, .total = sizeof(wire::Prologue)}, prologue_of({})));
  expect_refusal("more bytes than announced", summed({.total = sizeof(wire::Prologue)}, prologue_of({}) + "more"));
  // Parts that come with what announces them, though more chunks follow.
  wire::PartSpec spec;
  spec.bytes = 1000;
  spec.rank = 1;
  const std::int64_t axis = 1000;
  spec.dtype = static_cast<std::uint8_t>(DType::UInt8);
  std::string payload = prologue_of({.head = {}, .parts = 1, .spec_bytes = sizeof spec + 8, .data_bytes = 1000});
  payload.append(reinterpret_cast<const char*>(&spec), sizeof spec).append(reinterpret_cast<const char*>(&axis), 8);
  expect_refusal("parts before their memory", summed({.total = payload.size() + 1000}, payload + "early bytes"));
}

TEST(SocketStream, IsThereForWhoWasToldTheToken) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.connection_patience = 500ms});
  const auto refuses = [&](const std::string& words) {
    RawCaller caller(listener.address());
    caller.say(words);
    bool closed = false;
    EXPECT_EQ(caller.hear(3000ms, closed), "");
    return closed;
  };
  EXPECT_TRUE(refuses(std::string(kSocketMark) + std::string(kSocketTokenBytes, 't'))) << "a guess";
  EXPECT_TRUE(refuses(std::string(kSocketMark) + "not all")) << "in good time";
  HostileSocket caller(listener.address());
  caller.say("");
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(refuses(std::string(kSocketMark) + caller.token())) << "a token that was used";
  HandmadeStream never(listener.address(), kSocketMessagesMethod);
  std::string answer;
  ASSERT_TRUE(never.hear(answer));
  EXPECT_FALSE(never.hear(answer));
  EXPECT_EQ(never.end().error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "nobody waits for ever";
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator entries("/proc/self/fd"), end;
  return std::distance(begin(entries), end);
}

TEST(SocketStream, LeavesNothingBehind) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  Message request, reply;
  connect_by_socket(listener)->open()->call(request, reply);
  std::ptrdiff_t before = open_files();
  EXPECT_TRUE(comes_true([&] { return std::exchange(before, open_files()) == before; }, 5s));
  for (int i = 0; i < 5; ++i) connect_by_socket(listener)->open()->call(request, reply);
  EXPECT_TRUE(comes_true([&] { return open_files() <= before; }, 5s)) << open_files() << " of " << before;
}

// Sockets of this process, by their own port and the other end's.
std::map<std::pair<int, int>, int> connected_sockets() {
  std::map<std::pair<int, int>, int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int file = std::stoi(entry.path().filename());
    sockaddr_in own{}, peer{};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    if (getsockname(file, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 && own.sin_family == AF_INET &&
        getpeername(file, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0) {
      found[{ntohs(own.sin_port), ntohs(peer.sin_port)}] = file;
    }
  }
  return found;
}

// Heartbeats take another way, and go on.
TEST(SocketStream, NoticesAWayThatIsBrokenForItAlone) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto connection =
      connect({"ps:0", listener.address()}, {.transport = "tcp", .heartbeat = 200ms, .dead_after = 1000ms});
  const auto first = connection->open();
  const auto before = connected_sockets();
  const auto stream = connection->open();
  Message request, reply;
  request.parts = {Tensor::full({1'000'000}, 1)};
  stream->call(request, reply);
  // Whatever comes to either end of the new one is lost from now on, acknowledgements, too.
  int cut = 0;
  for (const auto& [ports, file] : connected_sockets()) {
    if (before.contains(ports)) continue;
    sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog filter{1, &nothing};
    cut += setsockopt(file, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
  }
  ASSERT_EQ(cut, 2);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(error_of([&] { stream->call(request, reply); }),
              testing::AllOf(StartsWith("Unavailable ps:0"), HasSubstr("nothing is acknowledged")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, cohort::test::patience(15s));
  connection->open()->call(request, reply);
}

TEST(SocketStream, EndsWithTheProcessOfTheTask) {
  PeerProcess peer;
  const auto connection =
      connect({"worker:1", peer.address()}, {.transport = "tcp", .heartbeat = 20s, .dead_after = 60s});
  const auto stream = connection->open();
  Message request, reply;
  request.parts = {Tensor::full({1'000'000}, 1)};
  stream->call(request, reply);
  peer.signal(SIGKILL);
  EXPECT_THAT(error_of([&] {
                while (true) stream->call(request, reply);
              }),
              StartsWith("Unavailable worker:1"));
}

}  // namespace
}  // namespace cohort::distribute::rpc::test
