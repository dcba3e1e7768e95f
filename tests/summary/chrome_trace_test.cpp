#include "cohort/summary/chrome_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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
