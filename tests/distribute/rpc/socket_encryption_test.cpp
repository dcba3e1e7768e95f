// What encrypted sockets send and take: the records of TLS 1.3 as OpenSSL knows them, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "cohort/distribute/rpc/record_protection.h"
#include "cohort/distribute/rpc/socket_encryption.h"
#include "tests/distribute/rpc/attackers.h"
#include "tests/distribute/rpc/tls_caller.h"

namespace cohort::distribute::rpc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kKey(32, 'k');

// Bytes that differ from their neighbours.
std::string some_bytes(std::size_t count) {
  std::string bytes(count, ' ');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

// Two sockets that end at each other.
struct Sockets {
  Sockets() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0); }
  ~Sockets() {
    for (const int end : ends) close(end);
  }
  Sockets(const Sockets&) = delete;
  int ends[2] = {-1, -1};
};

std::size_t write(SocketEncryption& to, std::string_view bytes) {
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  return to.write({&piece, 1});
}

// All that can be read for now, by rooms of this size.
std::string read(SocketEncryption& from, std::size_t room = 100'000) {
  std::string came, some(room, ' ');
  while (const std::size_t count = from.read(some)) came.append(some, 0, count);
  return came;
}

// Two encrypted ends, that know these keys.
struct EncryptedPair : Sockets {
  EncryptedPair(const std::string& of_caller, const std::string& of_task,
                std::uint64_t bytes_of_a_key = SocketEncryption::kBytesOfAKey)
      : caller(ends[0], SocketEncryption::Side::Caller, of_caller, bytes_of_a_key),
        task(ends[1], SocketEncryption::Side::Task, of_task, bytes_of_a_key) {}
  // Whether both are sure of one another.
  bool greet() {
    bool caller_is = false, task_is = false;
    for (int i = 0; i < 10; ++i) caller_is = caller.greet(), task_is = task.greet();
    return caller_is && task_is;
  }
  // What the caller writes, as it comes on the wire.
  std::string on_the_wire(std::string_view bytes) {
    EXPECT_EQ(write(caller, bytes), bytes.size());
    EXPECT_TRUE(caller.flush());
    std::string records(2 * bytes.size() + 1000, ' ');
    const ssize_t count = recv(ends[1], records.data(), records.size(), 0);
    EXPECT_GT(count, 0);
    records.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return records;
  }
  void send_as_caller(const std::string& bytes) const {
    EXPECT_EQ(send(ends[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  SocketEncryption caller, task;
};

// As much as the sockets take at a time, until all of it has come by rooms of this size.
std::string carried(SocketEncryption& from, SocketEncryption& to, std::string_view bytes, std::size_t room) {
  std::string came;
  const std::size_t all = bytes.size();
  while (came.size() < all && !from.has_ended() && !to.has_ended()) {
    // In two pieces, of which the first is in the middle of a record.
    const std::size_t first = std::min<std::size_t>(bytes.size(), 1000);
    const std::array<iovec, 2> pieces{iovec{const_cast<char*>(bytes.data()), first},
                                      iovec{const_cast<char*>(bytes.data()) + first, bytes.size() - first}};
    bytes.remove_prefix(from.write(pieces));
    from.flush();
    came += read(to, room);
  }
  return came;
}

TEST(SocketEncryption, CarriesBytesBetweenTwoThatKnowTheKey) {
  EncryptedPair pair(kKey, kKey);
  ASSERT_TRUE(pair.greet());
  for (const std::size_t count : {1, 1000, 16384, 16385, 1'000'000}) {
    const std::string bytes = some_bytes(count);
    for (const std::size_t room : {7, 5000, 100'000, 2'000'000}) {
      EXPECT_EQ(carried(pair.caller, pair.task, bytes, room), bytes) << count << " by " << room;
    }
    EXPECT_EQ(carried(pair.task, pair.caller, bytes, 100'000), bytes) << count;
  }
}

TEST(SocketEncryption, TakesAnotherKeyNowAndThen) {
  EncryptedPair pair(kKey, kKey, 20'000);
  ASSERT_TRUE(pair.greet());
  const std::string bytes = some_bytes(1'000'000);
  EXPECT_EQ(carried(pair.caller, pair.task, bytes, 100'000), bytes);
  EXPECT_EQ(carried(pair.task, pair.caller, bytes, 9000), bytes);
}

TEST(SocketEncryption, KeepsOutWhoDoesNotKnowTheKey) {
  EncryptedPair other(kKey, std::string(32, 'l'));
  EXPECT_FALSE(other.greet());
  EXPECT_TRUE(other.task.has_ended());
  EncryptedPair nothing(kKey, kKey);
  nothing.send_as_caller(client_hello());
  EXPECT_FALSE(nothing.task.greet());
  EXPECT_TRUE(nothing.task.has_ended());
}

// Whether records are opened where they lie or where they belong.
TEST(SocketEncryption, EndsWithTheFirstByteThatWasChanged) {
  for (const std::size_t count : {6, 10'000}) {
    const std::string bytes = some_bytes(count);
    std::size_t size = 0;
    {
      EncryptedPair pair(kKey, kKey);
      ASSERT_TRUE(pair.greet());
      const std::string record = pair.on_the_wire(bytes);
      size = record.size();
      ASSERT_EQ(size, count + RecordProtection::kAround);
      EXPECT_THAT(record, Not(HasSubstr(bytes)));
      pair.send_as_caller(record);
      EXPECT_EQ(read(pair.task), bytes);
    }
    // Of its header, its content, what kind that is, and its tag.
    for (const std::size_t place :
         {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{8}, 4 + count, 5 + count, size - 16, size - 1}) {
      EncryptedPair pair(kKey, kKey);
      ASSERT_TRUE(pair.greet());
      std::string record = pair.on_the_wire(bytes);
      record[place] ^= 1;
      pair.send_as_caller(record + record);
      EXPECT_EQ(read(pair.task), "") << place;
      EXPECT_TRUE(pair.task.has_ended()) << place;
      EXPECT_EQ(read(pair.task), "") << place;
    }
  }
}

TEST(SocketEncryption, TakesRecordsOnceAndInOrder) {
  const std::string first = "the first", second = "the second";
  EncryptedPair twice(kKey, kKey);
  ASSERT_TRUE(twice.greet());
  const std::string record = twice.on_the_wire(first);
  twice.send_as_caller(record + record);
  EXPECT_EQ(read(twice.task), first);
  EXPECT_TRUE(twice.task.has_ended());

  EncryptedPair swapped(kKey, kKey);
  ASSERT_TRUE(swapped.greet());
  const std::string before = swapped.on_the_wire(first);
  swapped.send_as_caller(swapped.on_the_wire(second) + before);
  EXPECT_EQ(read(swapped.task), "");
  EXPECT_TRUE(swapped.task.has_ended());

  // Nor those that it has sent itself.
  EncryptedPair mirrored(kKey, kKey);
  ASSERT_TRUE(mirrored.greet());
  const std::string own = mirrored.on_the_wire(first);
  EXPECT_EQ(send(mirrored.ends[1], own.data(), own.size(), 0), static_cast<ssize_t>(own.size()));
  EXPECT_EQ(read(mirrored.caller), "");
  EXPECT_TRUE(mirrored.caller.has_ended());
}

TEST(SocketEncryption, GivesNothingOfARecordThatWasCutOff) {
  const std::string bytes = some_bytes(40'000);
  EncryptedPair pair(kKey, kKey);
  ASSERT_TRUE(pair.greet());
  const std::string records = pair.on_the_wire(bytes);
  pair.send_as_caller(records.substr(0, records.size() - 1));
  // Two whole ones, and most of the third.
  EXPECT_EQ(read(pair.task), bytes.substr(0, 2 * RecordProtection::kLargestContent));
  EXPECT_FALSE(pair.task.has_ended()) << "the rest may come";
  shutdown(pair.ends[0], SHUT_WR);
  EXPECT_EQ(read(pair.task), "");
  EXPECT_TRUE(pair.task.has_ended());
}

TEST(SocketEncryption, EndsWithRecordsThatNobodyMakes) {
  using namespace std::string_literals;
  for (const std::string& record : {
           "\x17\x03\x03\xff\xff"s,          // longer than records are
           "\x17\x03\x03\x40\x12"s,          // by one byte
           "\x17\x03\x03\x00\x11"s,          // of nothing
           "\x15\x03\x03\x00\x02\x01\x00"s,  // an alert that is not encrypted
           "\x14\x03\x03\x00\x01\x01"s,      // what only a handshake has
           "GET / HTTP/1.1\r\n"s,
       }) {
    EncryptedPair pair(kKey, kKey);
    ASSERT_TRUE(pair.greet());
    pair.send_as_caller(record);
    EXPECT_EQ(read(pair.task), "");
    EXPECT_TRUE(pair.task.has_ended()) << record;
  }
}

// OpenSSL calls a task of ours.
struct WithTls : Sockets {
  explicit WithTls(std::uint64_t bytes_of_a_key = SocketEncryption::kBytesOfAKey)
      : task(ends[1], SocketEncryption::Side::Task, kKey, bytes_of_a_key), caller(ends[0], kKey) {
    bool caller_is = false, task_is = false;
    for (int i = 0; i < 10; ++i) caller_is = caller.greet(), task_is = task.greet();
    EXPECT_TRUE(caller_is && task_is);
  }
  SocketEncryption task;
  TlsCaller caller;
};

TEST(SocketEncryption, SpeaksTlsAsOthersDo) {
  WithTls both(30'000);
  const std::string bytes = some_bytes(50'000);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(both.caller.say(bytes));
    EXPECT_EQ(read(both.task), bytes);
    ASSERT_EQ(write(both.task, bytes), bytes.size());
    ASSERT_TRUE(both.task.flush());
    EXPECT_EQ(both.caller.hear(), bytes) << i;
    ASSERT_TRUE(both.caller.take_next_key());
  }
}

TEST(SocketEncryption, EndsWithWhatIsOfTlsButNotOfOurs) {
  WithTls leaving, padding;
  ASSERT_TRUE(leaving.caller.say("a word"));
  leaving.caller.say_goodbye();
  EXPECT_EQ(read(leaving.task), "a word");
  EXPECT_TRUE(leaving.task.has_ended());
  padding.caller.pad(64);
  ASSERT_TRUE(padding.caller.say("a word"));
  EXPECT_EQ(read(padding.task), "");
  EXPECT_TRUE(padding.task.has_ended());
}

}  // namespace
}  // namespace cohort::distribute::rpc::test
