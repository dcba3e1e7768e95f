#include "cohort/summary/chrome_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cohort/core/error.h"
#include "cohort/core/timeline.h"
#include "tests/support/paths.h"

namespace cohort::summary {
namespace {

TEST(ChromeTrace, HoldsACompleteEventForEachSpan) {
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    const TimelineSpan outer("step", "step", 7);
    const TimelineSpan inner("data", "data \"wait\"\n");
  }
  { const TimelineSpan unseen("step", "nobody records"); }
  const test::TemporaryFolder folder;
  write_chrome_trace(folder.file("a/b/trace.json"), timeline);
  std::ifstream file(folder.file("a/b/trace.json"));
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::vector<nlohmann::json> spans;
  for (const auto& event : trace.at("traceEvents")) {
    ASSERT_TRUE(event.at("ph") == "X" || event.at("ph") == "M");
    EXPECT_TRUE(event.at("pid").is_number_integer() && event.at("tid").is_number_integer());
    if (event.at("ph") == "X") spans.push_back(event);
  }
  ASSERT_EQ(spans.size(), 2u);
  const auto &inner = spans[0], &outer = spans[1];  // in the order they ended
  EXPECT_EQ(inner.at("name"), "data \"wait\"\n");
  EXPECT_EQ(outer.at("cat"), "step");
  EXPECT_EQ(outer.at("args").at("number"), 7);
  EXPECT_EQ(outer.at("ts"), 0.0);
  EXPECT_GE(inner.at("ts"), outer.at("ts"));
  EXPECT_LE(inner.at("ts").get<double>() + inner.at("dur").get<double>(), outer.at("dur").get<double>());
}

TEST(ChromeTrace, ShowsOtherThreadsAndProcessesAndWhatFlowsBetweenThem) {
  Timeline own;
  std::vector<TimelineTrack> others(3);
  others[0].thread = "to worker:0";
  others[1] = {.process = "worker:0", .thread = "thread 0"};
  others[2] = {.process = "worker:0", .thread = "thread 1"};
  const auto at = [](int microseconds) {
    return Timeline::Clock::time_point() + std::chrono::microseconds(1000 + microseconds);
  };
  own.add({.category = "step", .name = "schedule", .begin = at(1), .end = at(2)});
  others[0].timeline.add({.category = "cluster", .name = "send", .begin = at(2), .end = at(3), .flow = 5});
  others[0].timeline.add({.category = "cluster", .name = "take", .begin = at(9), .end = at(10), .flow = 5});
  others[1].timeline.add({.category = "cluster", .name = "run", .begin = at(4), .end = at(8), .number = 1, .flow = 5});
  others[2].timeline.add({.category = "cluster", .name = "alone", .begin = at(0), .end = at(8), .flow = 6});
  others[2].timeline.drop(3);
  const test::TemporaryFolder folder;
  write_chrome_trace(folder.file("trace.json"), own, others);
  std::ifstream file(folder.file("trace.json"));
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<std::string, nlohmann::json> spans;
  std::map<std::string, int> processes;
  std::vector<nlohmann::json> arrow;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") spans[event.at("name")] = event;
    if (event.at("name") == "process_name") processes[event.at("args").at("name")] = event.at("pid");
    if (event.at("name") == "flow") arrow.push_back(event);
  }
  EXPECT_EQ(spans.at("send").at("pid"), processes.at("chief"));
  EXPECT_EQ(spans.at("schedule").at("pid"), processes.at("chief"));
  EXPECT_NE(spans.at("send").at("tid"), spans.at("schedule").at("tid"));
  EXPECT_EQ(spans.at("run").at("pid"), processes.at("worker:0"));
  EXPECT_EQ(spans.at("alone").at("pid"), processes.at("worker:0"));
  EXPECT_NE(spans.at("alone").at("tid"), spans.at("run").at("tid"));
  EXPECT_EQ(spans.at("alone").at("ts"), 0.0);  // times are from the first span of all
  EXPECT_EQ(spans.at("run").at("ts"), 4.0);
  EXPECT_EQ(spans.at("run").at("args"), nlohmann::json({{"number", 1}, {"flow", 5}}));
  ASSERT_EQ(arrow.size(), 3u);  // what is alone leads nowhere
  EXPECT_EQ(arrow[0].at("ph"), "s");
  EXPECT_EQ(arrow[0].at("pid"), spans.at("send").at("pid"));
  EXPECT_EQ(arrow[0].at("tid"), spans.at("send").at("tid"));
  EXPECT_EQ(arrow[1].at("ph"), "t");
  EXPECT_EQ(arrow[1].at("pid"), spans.at("run").at("pid"));
  EXPECT_EQ(arrow[2].at("ph"), "f");
  EXPECT_EQ(arrow[2].at("ts"), spans.at("take").at("ts"));
  for (const auto& event : arrow) EXPECT_EQ(event.at("id"), 5);
  EXPECT_EQ(trace.at("otherData").at("spans_left_out"), 3);
}

TEST(ChromeTrace, ShowsWhatDevicesDidAndTheirMemory) {
  const auto at = [](int microseconds) {
    return Timeline::Clock::time_point() + std::chrono::microseconds(1000 + microseconds);
  };
  Timeline timeline;
  timeline.add(Timeline::Span{.category = "step", .name = "step", .begin = at(1), .end = at(9)});
  const auto lane = timeline.lane("GPU:0 compute", [] {});
  lane->add(Timeline::Count{"GPU:0 memory", at(0), 4096});
  const KernelWork work{.op = "MatMul", .shapes = "a -> b", .operations = 64, .bytes = 32};
  lane->add(Timeline::Span{.category = "kernel",
                           .name = "dense/mat_mul",
                           .begin = at(3),
                           .end = at(5),
                           .work = std::make_shared<const KernelWork>(work)});
  lane->drop(2);
  const std::vector<TimelineTrack> others{{.thread = "to worker:0"}};
  const test::TemporaryFolder folder;
  write_chrome_trace(folder.file("trace.json"), timeline, others);
  std::ifstream file(folder.file("trace.json"));
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<std::string, nlohmann::json> events;
  std::map<std::string, int> threads;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name") threads[event.at("args").at("name")] = event.at("tid");
    events[event.at("name")] = event;
  }
  EXPECT_EQ(events.at("dense/mat_mul").at("tid"), threads.at("GPU:0 compute"));
  EXPECT_NE(threads.at("GPU:0 compute"), threads.at("fit"));
  EXPECT_NE(threads.at("GPU:0 compute"), threads.at("to worker:0"));
  EXPECT_EQ(events.at("dense/mat_mul").at("pid"), events.at("step").at("pid"));
  EXPECT_EQ(events.at("dense/mat_mul").at("ts"), 3.0);
  EXPECT_EQ(events.at("dense/mat_mul").at("args"),
            nlohmann::json({{"op", "MatMul"}, {"shapes", "a -> b"}, {"operations", 64.0}, {"bytes", 32.0}}));
  EXPECT_EQ(events.at("GPU:0 memory").at("ph"), "C");
  EXPECT_EQ(events.at("GPU:0 memory").at("ts"), 0.0);
  EXPECT_EQ(events.at("GPU:0 memory").at("args").at("value"), 4096);
  EXPECT_EQ(trace.at("otherData").at("spans_left_out"), 2);
}

TEST(ChromeTrace, LeavesNothingBehindWhereItCannotBeWritten) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("file")) << "not a folder";
  EXPECT_THROW(write_chrome_trace(folder.file("file/trace.json"), Timeline()), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Timeline, OfAnEndedRecordingIsLeftAlone) {
  auto timeline = std::make_unique<Timeline>();
  auto scope = std::make_unique<TimelineScope>(*timeline);
  {
    const TimelineSpan span("step", "step");
    scope.reset();
    timeline.reset();
  }
  EXPECT_EQ(Timeline::current(), nullptr);
}

}  // namespace
}  // namespace cohort::summary
