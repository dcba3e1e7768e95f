#include "tests/distribute/rpc/attackers.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute::rpc::test {
namespace {

using namespace std::chrono_literals;

constexpr char kTarget[] = "COHORT_TEST_ATTACKED", kCount[] = "COHORT_TEST_CONNECTIONS", kServing[] = "ADDRESS ",
               kOpened[] = "OPENED ";

cohort::test::StartedProgramOptions this_program(const std::string& test) {
  return {.arguments = {"--gtest_filter=" + test, "--gtest_also_run_disabled_tests"}};
}

cohort::test::StartedProgramOptions attack_on(const std::string& address, int connections) {
  auto options = this_program("AttackersProcess.DISABLED_Attack");
  options.environment = {{kTarget, address}, {kCount, std::to_string(connections)}};
  return options;
}

// Keeps as many connections as it may, each with another beginning; the oldest make room.
void crowd(const std::string& address, std::size_t connections) {
  const std::string hello = client_hello();
  const std::string beginnings[] = {"", hello.substr(0, hello.size() / 2), hello, http2_preface().substr(0, 10)};
  std::deque<RawCaller> callers;
  for (std::size_t i = 0;; ++i) {
    callers.emplace_back(address);
    if (callers.back().connected()) callers.back().say(beginnings[i % std::size(beginnings)]);
    while (callers.size() > connections) callers.pop_front();
    if (i % 16 == 15) std::this_thread::sleep_for(1ms);
    if (i % 200 == 199) std::printf("%s%zu\n", kOpened, i + 1), std::fflush(stdout);
  }
}

void babble(const std::string& address) {
  std::mt19937 random(7);
  const std::string hello = client_hello();
  for (int i = 0;; ++i) {
    std::string noise(1 + random() % 4096, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    std::string broken = hello;
    broken[random() % broken.size()] ^= 0x40;
    const std::string said[] = {noise,
                                "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                http2_preface() + lying_frames(),
                                hello.substr(0, 5) + noise,
                                broken,
                                http2_preface() + noise};
    const RawCaller caller(address);
    if (!caller.connected()) continue;
    caller.say(said[static_cast<std::size_t>(i) % std::size(said)]);
    bool closed = false;
    caller.hear(5ms, closed);
  }
}

// What the second process runs.
TEST(AttackersProcess, DISABLED_Attack) {
  ASSERT_EQ(::nice(19), 19);
  const std::string address = std::getenv(kTarget);
  const auto connections = static_cast<std::size_t>(std::atoi(std::getenv(kCount)));
  std::thread crowding([&] { crowd(address, connections); }), babbling([&] { babble(address); });
  crowding.join();
  babbling.join();
}

TEST(PlainGrpcProcess, DISABLED_Serves) {
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  std::printf("%s127.0.0.1:%d\n", kServing, port);
  std::fflush(stdout);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) continue;
}

void add_number(std::string& bytes, std::size_t number, int width) {
  for (int i = width - 1; i >= 0; --i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

RawCaller::RawCaller(const std::string& text) {
  const Address address = parse_address(text, "RawCaller");
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(address.port));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  // Its port is free for the next one at once.
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0) return;
  ::close(socket_);
  socket_ = -1;
}

RawCaller::~RawCaller() {
  if (socket_ >= 0) ::close(socket_);
}

void RawCaller::say(const std::string& bytes) const {
  if (!bytes.empty()) (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string RawCaller::hear(std::chrono::milliseconds longest, bool& closed) const {
  std::string heard;
  const auto end = std::chrono::steady_clock::now() + longest;
  for (closed = false; !closed;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd look{socket_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&look, 1, static_cast<int>(left.count())) <= 0) return heard;
    char bytes[4096];
    const ssize_t came = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    closed = came <= 0;
    if (came > 0) heard.append(bytes, static_cast<std::size_t>(came));
  }
  return heard;
}

std::string client_hello() {
  std::string extensions("\0\x0a\0\6\0\4\0\x1d\0\x17", 10);   // groups: x25519, P-256
  extensions += std::string("\0\x0d\0\6\0\4\4\3\x08\4", 10);  // signatures: ECDSA and RSA-PSS with SHA-256
  extensions += std::string("\0\x10\0\5\0\3\2h2", 9);         // HTTP/2
  std::string hello("\3\3", 2);                               // TLS 1.2
  hello += std::string(32, 'r') + '\0';                       // a random number, no session
  hello += std::string("\0\4\xc0\x2b\xc0\x2f\1\0", 8);        // ciphers; no compression
  add_number(hello, extensions.size(), 2);
  hello += extensions;
  std::string record("\x16\3\1", 3);
  add_number(record, hello.size() + 4, 2);
  record += '\1';
  add_number(record, hello.size(), 3);
  return record + hello;
}

std::string http2_preface() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9); }

std::string lying_frames() {
  // Data of 16 MiB on a stream that does not exist, headers that go on for ever, a window of 2^31 - 1.
  return std::string("\xff\xff\xff\0\0\0\0\0\1", 9) + std::string("\0\x40\0\1\0\0\0\0\3", 9) +
         std::string(16384, '\x41') + std::string("\0\0\4\x08\0\0\0\0\0\x7f\xff\xff\xff", 13);
}

Attackers::Attackers(const std::string& address, int connections)
    : program_("tests/distribute_test", attack_on(address, connections), folder_.path()) {}

int Attackers::opened() const {
  const std::string said = program_.output();
  const std::size_t last = said.rfind(kOpened);
  return last == std::string::npos ? 0 : std::atoi(said.c_str() + last + sizeof kOpened - 1);
}

PlainGrpcProcess::PlainGrpcProcess()
    : program_("tests/distribute_test", this_program("PlainGrpcProcess.DISABLED_Serves"), folder_.path()) {
  if (!cohort::test::becomes_true([&] { return program_.output().find(kServing) != std::string::npos; })) {
    throw std::runtime_error("the plain server does not serve: " + program_.errors());
  }
}

std::string PlainGrpcProcess::address() const {
  const std::string said = program_.output();
  const std::size_t begin = said.find(kServing) + sizeof kServing - 1;
  return said.substr(begin, said.find('\n', begin) - begin);
}

}  // namespace cohort::distribute::rpc::test
