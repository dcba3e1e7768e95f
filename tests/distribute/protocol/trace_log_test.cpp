#include "cohort/distribute/protocol/trace_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/ops/math.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using testing::HasSubstr;

void do_something(TraceLog& log, const char* name, std::uint64_t flow = 0) {
  const TraceRecording recording(log);
  const TimelineSpan span("cluster", name, 3, flow);
}

TEST(TraceLog, HoldsWhatEachThreadDidWhileItWasRecorded) {
  TraceLog log;
  do_something(log, "before");
  log.begin();
  do_something(log, "one", 7);
  std::thread([&log] { do_something(log, "two"); }).join();
  do_something(log, "three");
  const std::vector<TimelineTrack> tracks = log.end("ps:0");
  do_something(log, "after");
  ASSERT_EQ(tracks.size(), 2u);
  const TimelineTrack& here = tracks[tracks[0].timeline.spans().size() == 2 ? 0 : 1];
  ASSERT_EQ(here.timeline.spans().size(), 2u);
  EXPECT_EQ(here.process, "ps:0");
  EXPECT_EQ(here.timeline.spans()[0].name, "one");
  EXPECT_EQ(here.timeline.spans()[0].flow, 7u);
  EXPECT_EQ(here.timeline.spans()[1].name, "three");
  EXPECT_TRUE(log.end("ps:0").empty());
}

// What a device did for the threads of a task is a track of its own, whose name the chief sees.
TEST(TraceLog, HoldsWhatADeviceDidForItsThreads) {
  TraceLog log;
  log.begin();
  TraceOrigin origin{.task = "worker:0", .begin = Timeline::Clock::now(), .end = {}};
  Device& device = device_named("TEST:7");
  const auto compute = [&] {
    const TraceRecording recording(log, "serving");
    const Tensor x = Tensor::full({3}, 2, DType::Float32, device);
    EXPECT_EQ((x + x).to_vector<float>(), (std::vector<float>{4, 4, 4}));
  };
  compute();
  std::thread(compute).join();
  proto::TraceResultProto message;
  write_trace(log.end("worker:0"), message);
  origin.end = Timeline::Clock::now();
  const std::vector<TimelineTrack> read = read_trace(message, origin);
  ASSERT_EQ(read.size(), 1u);  // the threads did nothing else
  EXPECT_EQ(read[0].process, "worker:0");
  EXPECT_EQ(read[0].thread, "TEST:7 compute");
  EXPECT_EQ(read[0].timeline.spans().size(), 2u);
  EXPECT_EQ(read[0].timeline.spans()[0].category, "kernel");
  log.begin();
  EXPECT_TRUE(log.end("").empty());
}

// What has begun in one recording is no part of the next.
TEST(TraceLog, ForgetsWhatOutlastsARecording) {
  TraceLog log;
  log.begin();
  {
    const TraceRecording recording(log);
    const TimelineSpan span("cluster", "long");
    log.end("");
  }
  log.begin();
  EXPECT_TRUE(log.end("").empty());
}

class OneTrace : public testing::Test {
 protected:
  OneTrace() {
    TraceLog log;
    origin_ = {.task = "worker:0", .begin = Timeline::Clock::now(), .end = {}};
    log.begin();
    do_something(log, "one", 7);
    origin_.end = Timeline::Clock::now();
    tracks_ = log.end("worker:0");
    write_trace(tracks_, message_);
  }
  std::vector<TimelineTrack> tracks_;
  proto::TraceResultProto message_;
  TraceOrigin origin_;
};

TEST_F(OneTrace, ArrivesByTheClockOfWhoeverReadsIt) {
  const Timeline::Span& sent = tracks_.at(0).timeline.spans().at(0);
  for (const std::chrono::nanoseconds offset : {0ns, 1'234'567'890'123ns, -55'000'000'000'000'000ns}) {
    proto::TraceResultProto shifted = message_;
    const std::uint64_t begin = message_.spans(0).begin() + static_cast<std::uint64_t>(offset.count());
    shifted.mutable_spans(0)->set_begin(begin);
    origin_.clock_offset = offset;
    const std::vector<TimelineTrack> read = read_trace(shifted, origin_);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].process, "worker:0");
    const Timeline::Span& span = read[0].timeline.spans().at(0);
    EXPECT_EQ(span.category, "cluster");
    EXPECT_EQ(span.name, "one");
    EXPECT_EQ(span.begin, sent.begin);
    EXPECT_EQ(span.end, sent.end);
    EXPECT_EQ(span.number, 3);
    EXPECT_EQ(span.flow, 7u);
  }
}

TEST_F(OneTrace, IsCheckedBeforeItIsBelieved) {
  const auto error_with = [&](const std::function<void(proto::TraceResultProto&)>& change) {
    proto::TraceResultProto changed = message_;
    change(changed);
    return error_of([&] { read_trace(changed, origin_); });
  };
  EXPECT_EQ(error_with([](auto&) {}), "");
  EXPECT_THAT(error_with([](auto& trace) { trace.mutable_spans(0)->set_name(2); }), HasSubstr("DataLoss worker:0"));
  EXPECT_THAT(error_with([](auto& trace) { trace.mutable_spans(0)->set_category(~0u); }), HasSubstr("DataLoss"));
  EXPECT_THAT(error_with([](auto& trace) { trace.mutable_spans(0)->set_thread(~0u); }), HasSubstr("threads"));
  EXPECT_THAT(error_with([](auto& trace) { trace.set_names(0, std::string(201, 'x')); }), HasSubstr("200 bytes"));
  EXPECT_THAT(error_with([](auto& trace) {
                for (int i = 0; i < 200'000; ++i) trace.add_spans();
              }),
              HasSubstr("at most 200,000 spans"));
  // Of another time than the recording's: left out and counted.
  for (const std::uint64_t begin : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    proto::TraceResultProto elsewhere = message_;
    *elsewhere.add_spans() = message_.spans(0);
    elsewhere.mutable_spans(1)->set_begin(begin);
    const std::vector<TimelineTrack> read = read_trace(elsewhere, origin_);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].timeline.spans().size(), 1u);
    EXPECT_EQ(read[0].timeline.dropped(), 1);
  }
  proto::TraceResultProto endless = message_;
  endless.mutable_spans(0)->set_duration(~std::uint64_t{0});
  EXPECT_TRUE(read_trace(endless, origin_).empty());
}

}  // namespace
}  // namespace cohort::distribute::test
