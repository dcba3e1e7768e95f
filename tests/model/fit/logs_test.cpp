#include "cohort/model/fit/logs.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

class CountingSource : public LogsSource {
 public:
  void read_logs(Logs& logs) override {
    ++read;
    logs = Logs{{"loss", static_cast<double>(read)}};
  }
  int read = 0;
};

TEST(Logs, AreReadAtTheFirstLookOnly) {
  CountingSource source;
  Logs logs{{"old", 7.0}};
  logs.read_when_looked_at(source);
  EXPECT_EQ(source.read, 0);
  EXPECT_EQ(logs.at("loss"), 1.0);
  EXPECT_FALSE(logs.has("old"));
  EXPECT_EQ(logs.size(), 1u);
  EXPECT_EQ(source.read, 1);
}

TEST(Logs, MayBeAddedToBeforeAnyoneLooks) {
  CountingSource source;
  Logs logs;
  logs.read_when_looked_at(source);
  logs.set("mine", 3.0);
  EXPECT_EQ(logs.begin()->first, "loss");
  EXPECT_EQ(logs.at("mine"), 3.0);
  EXPECT_EQ(source.read, 1);
}

TEST(Logs, ThatAreCopiedOrMovedHoldFigures) {
  Logs copy, moved;
  {
    CountingSource source;
    Logs logs;
    logs.read_when_looked_at(source);
    copy = logs;
    logs.read_when_looked_at(source);
    moved = std::move(logs);
  }
  EXPECT_EQ(copy.at("loss"), 1.0);
  EXPECT_EQ(moved.at("loss"), 2.0);
}

TEST(Logs, ThatAreClearedAreNotRead) {
  CountingSource source;
  Logs logs;
  logs.read_when_looked_at(source);
  logs.clear();
  EXPECT_TRUE(logs.empty());
  EXPECT_EQ(source.read, 0);
}

}  // namespace
}  // namespace cohort
