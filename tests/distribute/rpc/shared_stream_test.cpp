// Streams through shared memory: whom it is shared with, what a hostile side may write there, and what is left of it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cohort/distribute/rpc/shared_rings.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/forged_chunks.h"
#include "tests/distribute/rpc/handmade_stream.h"
#include "tests/distribute/rpc/peer_process.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::rpc::test {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr SharedMemory::Kind kKind{.mark = 7, .bytes = 4096};

std::unique_ptr<SharedMemory> make_memory() { return SharedMemory::make(kKind, "Test", "memory", "none"); }

TEST(SharedMemory, IsFoundByItsNameAndProvedByItsNonce) {
  const auto made = make_memory();
  const auto opened = SharedMemory::open(made->name(), kKind);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->nonce(), made->nonce());
  made->data()[17] = std::byte{42};
  EXPECT_EQ(opened->data()[17], std::byte{42});
  EXPECT_TRUE(made->is_makers() && !opened->is_makers());
  const std::string name = made->name();
  made->hide();
  EXPECT_FALSE(SharedMemory::open(name, kKind));
}

TEST(SharedMemory, IsNotTakenForWhatItIsNot) {
  const auto made = make_memory();
  const std::string name = made->name(), place = name.substr(0, name.rfind('/'));
  for (const std::string& other :
       {std::string(), std::string("1"), name + "x", place + "/0", place, "0/" + name, std::string("-1/3/5")}) {
    EXPECT_FALSE(SharedMemory::open(other, kKind)) << other;
  }
  EXPECT_FALSE(SharedMemory::open(name, {.mark = 8, .bytes = kKind.bytes}));
  EXPECT_FALSE(SharedMemory::open(name, {.mark = kKind.mark, .bytes = 8192}));
  // One that its maker could cut short under the reader.
  std::filesystem::path path = "/proc/" + place;
  path = path.parent_path() / "fd" / path.filename();
  const int copy = memfd_create("cohort", MFD_CLOEXEC | MFD_ALLOW_SEALING), source = open(path.c_str(), O_RDONLY);
  const auto bytes = static_cast<std::size_t>(lseek(source, 0, SEEK_END));
  std::string contents(bytes, '\0');
  ASSERT_EQ(pread(source, contents.data(), bytes, 0), static_cast<ssize_t>(bytes));
  ASSERT_EQ(pwrite(copy, contents.data(), bytes, 0), static_cast<ssize_t>(bytes));
  const std::string unsealed = std::to_string(getpid()) + "/" + std::to_string(copy) + name.substr(name.rfind('/'));
  EXPECT_FALSE(SharedMemory::open(unsealed, kKind));
  ASSERT_EQ(fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_TRUE(SharedMemory::open(unsealed, kKind));
  close(copy);
  close(source);
}

// A caller that writes what it likes.
class HostileCaller {
 public:
  explicit HostileCaller(const std::string& address, const std::string& name = {})
      : rings_(SharedRings::make()),
        call_(address, kSharedMessagesMethod, grpc::InsecureChannelCredentials(),
              name.empty() ? rings_->memory().name() : name),
        is_served_(call_.hear(answer_)) {}
  bool is_served() const { return is_served_; }
  SharedRings& rings() { return *rings_; }
  void write(const std::string& bytes) {
    for (const char byte : bytes) {
      rings_->room().front() = byte;
      rings_->publish(1);
    }
    rings_->ring();
  }
  grpc::Status status() {
    EXPECT_FALSE(is_served_ && call_.hear(answer_));
    return call_.end();
  }

 private:
  const std::unique_ptr<SharedRings> rings_;
  HandmadeStream call_;
  std::string answer_;
  const bool is_served_;
};

TEST(SharedStream, RefusesWhateverAStrangerWritesAndServesOn) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  auto honest = connect({"ps:0", listener.address()}, {.transport = "shm"})->open();
  const auto expect_refusal = [&](const char* why, const std::function<void(HostileCaller&)>& act) {
    HostileCaller stranger(listener.address());
    ASSERT_TRUE(stranger.is_served()) << why;
    act(stranger);
    const grpc::Status status = stranger.status();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS) << why << ": " << status.error_message();
    expect_served(*honest);
  };
  expect_refusal("more than the ring holds", [](HostileCaller& stranger) {
    stranger.rings().publish(2 * SharedRings::kRingBytes + 5);
    stranger.rings().ring();
  });
  expect_refusal("a chunk larger than the ring", [](HostileCaller& stranger) { stranger.write("\xfe\xff\xff\xff"); });
  expect_refusal("a block that is not there", [](HostileCaller& stranger) { stranger.write(std::string(24, '\xff')); });
  expect_refusal("a chunk of nothing", [](HostileCaller& stranger) { stranger.write(std::string(4, '\0')); });
  expect_refusal("no mark",
                 [](HostileCaller& stranger) { stranger.write(chunk_of({.magic = 1, .total = 200}, "payload")); });
  expect_refusal("a message larger than the machine",
                 [](HostileCaller& stranger) { stranger.write(chunk_of({.total = ~std::uint64_t{0}}, "payload")); });
  expect_refusal("more bytes than announced", [](HostileCaller& stranger) {
    stranger.write(chunk_of({.total = sizeof(wire::Prologue)}, prologue_of({}) + "more"));
  });
  expect_refusal("sections that do not fit", [](HostileCaller& stranger) {
    stranger.write(
        chunk_of({.total = 1 << 20}, prologue_of({.head = {}, .parts = 3, .spec_bytes = 48, .data_bytes = 1 << 30})));
  });
  expect_refusal("parts without specs", [](HostileCaller& stranger) {
    stranger.write(chunk_of({.total = sizeof(wire::Prologue)}, prologue_of({.head = {}, .parts = 1 << 30})));
  });
}

// The counts that a side believed in are its own: what the other says later changes nothing.
TEST(SharedStream, CountsAreCheckedEveryTime) {
  const auto made = SharedRings::make();
  const auto opened = SharedRings::open(made->memory().name());
  ASSERT_TRUE(opened);
  made->publish(10);
  EXPECT_EQ(opened->readable(), 10u);
  made->publish(static_cast<std::uint32_t>(-6));
  EXPECT_EQ(opened->readable(), 10u);
  EXPECT_EQ(opened->peek(9).size(), 1u);
  opened->release(10);
  EXPECT_THAT(error_of([&] { opened->readable(); }), StartsWith("DataLoss "));
  made->release(1);  // more than was ever written
  EXPECT_THAT(error_of([&] { opened->room(); }), StartsWith("DataLoss "));
}

TEST(SharedStream, IsNotServedToWhoCannotProveWhatItOffers) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  const auto other = SharedRings::make();
  const std::string name = other->memory().name();
  HostileCaller guesses(listener.address(), name.substr(0, name.rfind('/')) + "/1234");
  EXPECT_FALSE(guesses.is_served());
  EXPECT_EQ(guesses.status().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(SharedStream, IsChosenWhereTheTaskOffersIt) {
  EchoService service;
  Listener one("127.0.0.1:0", service, "ps:0", {.carried_streams = 1}),
      none("127.0.0.1:0", service, "ps:1", {.carried_streams = 0});
  Message request, reply;
  auto connection = connect({"ps:0", one.address()}, {.transport = "shm"});
  EXPECT_STREQ(connection->transport(), "shared memory");
  auto shared = connection->open(), further = connection->open();
  shared->call(request, reply);
  further->call(request, reply);
  EXPECT_THAT(error_of([&] {
                connect({"ps:1", none.address()}, {.transport = "shm"});
              }),
              testing::AllOf(StartsWith("FailedPrecondition ps:1"), HasSubstr("transport auto")));
}

// Of whoever: other programs may have theirs there.
std::ptrdiff_t entries_of_dev_shm() {
  const std::filesystem::directory_iterator entries("/dev/shm"), end;
  return std::count_if(entries, end, [](const std::filesystem::directory_entry& entry) {
    return entry.path().filename().string().find("cohort") != std::string::npos;
  });
}

// Of this process: shared memory that is mapped, and files of it that are open.
int count_shared_memory() {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:cohort") != std::string::npos;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    count += std::filesystem::read_symlink(entry, ignored).string().find("memfd:cohort") != std::string::npos;
  }
  return count;
}

TEST(SharedStream, LeavesNothingBehindWhenAProcessIsKilled) {
  const std::ptrdiff_t before = entries_of_dev_shm();
  ASSERT_EQ(count_shared_memory(), 0);
  {
    PeerProcess peer;
    auto connection = connect({"worker:1", peer.address()}, {.transport = "shm", .heartbeat = 20s, .dead_after = 60s});
    auto stream = connection->open(), other = connection->open();
    Message request, reply;
    request.parts = {Tensor::full({1'000'000}, 1)};
    stream->call(request, reply);
    EXPECT_EQ(count_shared_memory(), 2) << "one mapping for each stream, and no file by which others might find it";
    EXPECT_EQ(entries_of_dev_shm(), before);
    peer.signal(SIGKILL);
    EXPECT_THAT(error_of([&] {
                  while (true) stream->call(request, reply);
                }),
                StartsWith("Unavailable worker:1"));
  }
  EXPECT_EQ(count_shared_memory(), 0);
  EXPECT_EQ(entries_of_dev_shm(), before);
}

// The memory of a served stream goes with its caller.
TEST(SharedStream, IsLetGoByTheServer) {
  EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  Message request, reply;
  for (int i = 0; i < 3; ++i) connect({"ps:0", listener.address()}, {.transport = "shm"})->open()->call(request, reply);
  EXPECT_TRUE(comes_true([] { return count_shared_memory() == 0; }, 5s)) << count_shared_memory();
}

}  // namespace
}  // namespace cohort::distribute::rpc::test
