#include "cohort/distribute/collective/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "cohort/distribute/collective/shared_channel.h"
#include "cohort/distribute/collective/stream_channel.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::collective::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr CallLabel kLabel{.sequence = 7, .bytes = 4, .kind = CallKind::AllReduce, .dtype = 7};

class SharedChannels : public testing::Test {
 protected:
  SharedChannels() {
    auto made = SharedSegment::make();
    auto opened = SharedSegment::open(made->name());
    if (!opened || opened->nonce() != made->nonce()) throw internal_error("SharedChannels", "no segment");
    first_ = std::make_unique<SharedChannel>(std::move(made), "worker:1", watch_);
    second_ = std::make_unique<SharedChannel>(std::move(opened), "worker:0", watch_);
  }
  static Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

  Watch watch_{"worker:0"};
  std::unique_ptr<SharedChannel> first_, second_;
};

TEST_F(SharedChannels, CarryMuchBothWaysAtOnce) {
  std::vector<std::int32_t> sent(5'000'000), there(sent.size()), back(sent.size());
  std::iota(sent.begin(), sent.end(), 0);
  std::thread sender([&] { first_->post(kLabel, std::as_bytes(std::span(sent)), in(60s)); });
  std::thread echo([&] {
    second_->receive(kLabel, std::as_writable_bytes(std::span(there)), in(60s));
    second_->post(kLabel, std::as_bytes(std::span(there)), in(60s));
  });
  first_->receive(kLabel, std::as_writable_bytes(std::span(back)), in(60s));
  sender.join();
  echo.join();
  EXPECT_TRUE(back == sent);
}

TEST_F(SharedChannels, AddWhatComes) {
  std::vector<float> sent(200'001, 1.5f), sum(sent.size(), 2);
  std::thread sender([&] { first_->post(kLabel, std::as_bytes(std::span(sent)), in(60s)); });
  second_->receive_and_add(kLabel, DType::Float32, std::as_writable_bytes(std::span(sum)), in(60s));
  sender.join();
  EXPECT_TRUE(sum == std::vector<float>(sent.size(), 3.5f));
}

TEST_F(SharedChannels, WaitsHaveDeadlinesThatNameThePeer) {
  std::byte byte{};
  EXPECT_THAT(cohort::test::error_of([&] {
                first_->receive(kLabel, {&byte, 1}, in(30ms));
              }),
              AllOf(StartsWith("DeadlineExceeded "), HasSubstr("worker:1")));
  const std::vector<std::byte> much(2 * kBytesAhead);
  EXPECT_THAT(cohort::test::error_of([&] { second_->post(kLabel, much, in(30ms)); }),
              AllOf(StartsWith("DeadlineExceeded "), HasSubstr("worker:0")));
}

TEST_F(SharedChannels, WhatALeavingPeerHasSentIsStillReceived) {
  const std::byte sent{42};
  std::byte received{};
  first_->post(kLabel, {&sent, 1}, in(1s));
  second_->peer_has_left();
  second_->receive(kLabel, {&received, 1}, in(1s));
  EXPECT_EQ(received, sent);
  EXPECT_THAT(cohort::test::error_of([&] {
                second_->receive(kLabel, {&received, 1}, in(10s));
              }),
              AllOf(StartsWith("Unavailable "), HasSubstr("left=worker:0")));
}

TEST_F(SharedChannels, AnotherCallIsAnError) {
  const std::byte sent{42};
  std::byte received{};
  CallLabel other = kLabel;
  other.sequence = 8;
  first_->post(other, {&sent, 1}, in(1s));
  EXPECT_THAT(cohort::test::error_of([&] {
                second_->receive(kLabel, {&received, 1}, in(1s));
              }),
              AllOf(StartsWith("FailedPrecondition "), HasSubstr("call 7"), HasSubstr("call 8")));
}

// What a stream goes through, which need not be what others of its connection do.
TEST(StreamChannel, SaysWhatItGoesThrough) {
  rpc::test::EchoService service;
  rpc::Listener listener("127.0.0.1:0", service, "worker:1", {.carried_streams = 1});
  const auto connection = rpc::connect({"worker:1", listener.address()}, {.transport = "tcp"});
  const Watch watch("worker:0");
  Mailbox one, other;
  const StreamChannel first(*connection, {}, one, watch), further(*connection, {}, other, watch);
  EXPECT_STREQ(first.transport(), "TCP");
  EXPECT_STREQ(further.transport(), "gRPC");
}

TEST(SharedSegment, OnlyFindsSegments) {
  const auto made = SharedSegment::make();
  const std::string name = made->name();
  EXPECT_NE(SharedSegment::open(name), nullptr);
  for (const std::string& wrong : {std::string(), std::string("1"), name + "0000", name + "x", std::string("../1/2"),
                                   std::string("-1/0"), name.substr(0, name.find('/')) + "/0"}) {
    EXPECT_EQ(SharedSegment::open(wrong), nullptr) << wrong;
  }
  made->hide();
  EXPECT_EQ(SharedSegment::open(name), nullptr);
}

}  // namespace
}  // namespace cohort::distribute::collective::test
