// Addresses as people have them: of both kinds, by name, of this machine or not, and proxies that nobody asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/attackers.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"
#include "tests/support/started_program.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

const Security kInsecure{};

// What comes of calls to an address, before and after strangers would have been cut off.
std::string call_twice(const std::string& address, const std::shared_ptr<const Security>& security) {
  return error_of([&] {
    const auto connection = connect({"ps:0", address}, {.transport = "grpc", .security = security});
    const auto stream = connection->open();
    Message request, reply;
    request.meta = "hello";
    stream->call(request, reply);
    std::this_thread::sleep_for(400ms);
    stream->call(request, reply);
    EXPECT_EQ(reply.meta, "hello");
    EXPECT_TRUE(connection->alive());
  });
}

std::string with_host(const std::string& host, const Listener& listener) {
  return host + ":" + std::to_string(parse_address(listener.address(), "test").port);
}

constexpr ServingLimits kShort{.connection_patience = 150ms};

TEST(Addresses, OfBothKindsAreServedAndCallersOfBothAreKnownAgain) {
  const cohort::test::ClusterCertificates certificates;
  const auto own = certificates.of("ps:0"), chief = certificates.of("chief:0");
  const auto insecure = std::make_shared<Security>();
  rpc::test::EchoService service;
  for (const auto& [server, caller] : {std::pair{own, chief}, std::pair{std::shared_ptr<const Security>(insecure),
                                                                        std::shared_ptr<const Security>(insecure)}}) {
    Listener v4("127.0.0.1:0", service, "ps:0", kShort, server.get());
    EXPECT_EQ(call_twice(v4.address(), caller), "");
    Listener everywhere("0.0.0.0:0", service, "ps:0", kShort, server.get());
    EXPECT_EQ(call_twice(with_host("localhost", everywhere), caller), "");
    Listener v6("[::1]:0", service, "ps:0", kShort, server.get());
    EXPECT_EQ(call_twice(v6.address(), caller), "");
    Listener both("[::]:0", service, "ps:0", kShort, server.get());
    EXPECT_EQ(call_twice(with_host("[::1]", both), caller), "");
    EXPECT_EQ(call_twice(with_host("127.0.0.1", both), caller), "");
  }
}

TEST(Addresses, MayBeNamesOfThisMachine) {
  char name[256] = {0};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  rpc::test::EchoService service;
  std::unique_ptr<Listener> listener;
  const std::string problem = error_of(
      [&] { listener = std::make_unique<Listener>(std::string(name) + ":0", service, "ps:0", kShort, &kInsecure); });
  if (!listener) GTEST_SKIP() << "this machine does not know its own name: " << problem;
  // gRPC asks this file and DNS, and nobody else whom the system may ask.
  if (cohort::test::content_of("/etc/hosts").find(name) == std::string::npos)
    GTEST_SKIP() << "/etc/hosts does not have it";
  EXPECT_EQ(call_twice(listener->address(), std::make_shared<Security>()), "");
}

TEST(Addresses, ThatAreNotOfThisMachineAreNamedWithThoseThatAre) {
  rpc::test::EchoService service;
  const auto listen = [&](const std::string& address) {
    return error_of([&] { Listener(address, service, "ps:0", {}, &kInsecure); });
  };
  for (const char* elsewhere : {"192.0.2.1:0", "[2001:db8::1]:0"}) {
    EXPECT_THAT(listen(elsewhere),
                AllOf(HasSubstr("ps:0: the address to listen on must be one of this machine, which has"),
                      HasSubstr("127.0.0.1"), HasSubstr(elsewhere), HasSubstr("--address")));
  }
  EXPECT_THAT(listen("no-such-host.invalid:0"),
              AllOf(HasSubstr("must be known on this machine"), HasSubstr("no-such-host.invalid:0")));
  Listener first("127.0.0.1:0", service, "ps:0");
  EXPECT_THAT(listen(first.address()), AllOf(HasSubstr("must be free"), HasSubstr(first.address())));
}

TEST(Addresses, AreCalledWithoutProxies) {
  const char* nobody = "http://127.0.0.1:1";
  const cohort::test::EnvironmentVariables proxies({{"http_proxy", nobody},
                                                    {"https_proxy", nobody},
                                                    {"grpc_proxy", nobody},
                                                    {"HTTP_PROXY", nobody},
                                                    {"no_proxy", std::nullopt}});
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  EXPECT_EQ(call_twice(listener.address(), nullptr), "");
}

TEST(FrontDoor, CutsOffTheSilentAndTheOldest) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.silent_connections = 3, .connection_patience = 300ms});
  std::vector<rpc::test::RawCaller> callers;
  for (int i = 0; i < 5; ++i) callers.emplace_back(listener.address());
  bool closed = false;
  callers[0].hear(2s, closed);
  EXPECT_TRUE(closed) << "for another";
  callers[1].hear(2s, closed);
  EXPECT_TRUE(closed) << "for another";
  callers[4].hear(100ms, closed);
  EXPECT_FALSE(closed) << "too early";
  callers[4].hear(2s, closed);
  EXPECT_TRUE(closed);
  EXPECT_EQ(call_twice(listener.address(), nullptr), "");
}

}  // namespace
}  // namespace cohort::distribute::rpc
