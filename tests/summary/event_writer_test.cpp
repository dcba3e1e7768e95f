#include "cohort/summary/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/summary/hparams.pb.h"
#include "tests/summary/events_of.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::summary {
namespace {

constexpr double kNever = 1e9;

TEST(EventWriter, WritesScalarsAsTensorsOfTheScalarsPage) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.file("logs/train"));
  writer.add_scalar("epoch_loss", 0.5, 7);
  writer.close();
  const std::string name = std::filesystem::path(writer.file_name()).filename();
  EXPECT_THAT(name, testing::MatchesRegex("events\\.out\\.tfevents\\.[0-9]+\\..+\\.[0-9]+\\.[0-9]+\\.v2"));
  const std::vector<Event> events = events_of(writer.file_name());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[1].step(), 7);
  const Summary::Value& value = events[1].summary().value(0);
  EXPECT_EQ(value.tag(), "epoch_loss");
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "scalars");
  EXPECT_EQ(value.tensor().dtype(), 1);
  EXPECT_EQ(value.tensor().tensor_content(), std::string("\0\0\0\x3f", 4));
}

TEST(EventWriter, DescribesHyperparametersAndTheFiguresOfATrial) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.add_hparams({{"units", 32}, {"activation", "relu"}, {"bias", true}}, {{"accuracy", 0.75}}, {.trial_id = "a"});
  EXPECT_THROW(writer.add_hparams({}), Error);
  writer.close();
  const std::vector<Event> events = events_of(writer.file_name());
  ASSERT_EQ(events.size(), 3u);
  ASSERT_EQ(events[1].summary().value_size(), 3);
  std::vector<HParamsPluginData> data(3);
  for (int i = 0; i < 3; ++i) {
    const Summary::Value& value = events[1].summary().value(i);
    EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "hparams");
    ASSERT_TRUE(data[static_cast<std::size_t>(i)].ParseFromString(value.metadata().plugin_data().content()));
  }
  EXPECT_EQ(events[1].summary().value(1).tag(), "_hparams_/session_start_info");
  EXPECT_EQ(data[0].experiment().hparam_infos_size(), 3);
  EXPECT_EQ(data[0].experiment().metric_infos(0).name().tag(), "accuracy");
  EXPECT_EQ(data[1].session_start_info().hparams().at("units").number_value(), 32.0);
  EXPECT_EQ(data[1].session_start_info().hparams().at("activation").string_value(), "relu");
  EXPECT_TRUE(data[1].session_start_info().hparams().at("bias").bool_value());
  EXPECT_EQ(data[1].session_start_info().group_name(), "a");
  EXPECT_EQ(data[2].session_end_info().status(), SessionEndInfo::STATUS_SUCCESS);
  EXPECT_EQ(events[2].summary().value(0).tag(), "accuracy");
}

TEST(EventWriter, KeepsEventsInMemoryUntilFlushed) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.flush_secs = kNever});
  EXPECT_EQ(events_of(writer.file_name()).size(), 1u);  // the run is there from the beginning
  writer.add_scalar("loss", 1.0, 0);
  EXPECT_EQ(events_of(writer.file_name()).size(), 1u);
  writer.flush();
  EXPECT_EQ(events_of(writer.file_name()).size(), 2u);
  writer.add_text("note", "*hello*", 1);
  writer.close();
  EXPECT_EQ(events_of(writer.file_name()).size(), 3u);
  EXPECT_NO_THROW(writer.flush());
  EXPECT_THROW(writer.add_scalar("loss", 1.0, 1), Error);
}

// Waits, at most ten seconds, until a file holds that many events.
std::size_t events_after_waiting(const std::string& file, std::size_t wanted) {
  for (int i = 0; i < 1000 && events_of(file).size() < wanted; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return events_of(file).size();
}

TEST(EventWriter, WritesOutByItselfOnceTheQueueIsFull) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.max_queue = 4, .flush_secs = kNever});
  for (int step = 0; step < 4; ++step) writer.add_scalar("loss", step, step);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(events_of(writer.file_name()).size(), 1u);
  writer.add_scalar("loss", 4, 4);
  EXPECT_EQ(events_after_waiting(writer.file_name(), 6), 6u);
}

TEST(EventWriter, WritesOutByItselfOnceAnEventHasWaited) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.max_queue = 1000, .flush_secs = 0.05});
  writer.add_scalar("loss", 0, 0);
  EXPECT_EQ(events_after_waiting(writer.file_name(), 2), 2u);
}

TEST(EventWriter, TakesEventsFromManyThreadsAndCanBeReadMeanwhile) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.max_queue = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&writer, t] {
      for (int step = 0; step < 50; ++step) writer.add_scalar("t" + std::to_string(t), step, step);
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_GE(events_of(writer.file_name()).size(), 1u);
  for (std::thread& thread : threads) thread.join();
  writer.close();
  std::map<std::string, std::int64_t> next_step;
  for (const Event& event : events_of(writer.file_name())) {
    if (event.summary().value_size() == 0) continue;
    EXPECT_EQ(event.step(), next_step[event.summary().value(0).tag()]++);
  }
  EXPECT_THAT(next_step, testing::ElementsAre(testing::Pair("t0", 50), testing::Pair("t1", 50), testing::Pair("t2", 50),
                                              testing::Pair("t3", 50)));
}

TEST(EventWriter, NeverSharesAFileWithAnother) {
  const test::TemporaryFolder folder;
  const EventWriter first(folder.path()), second(folder.path());
  EXPECT_NE(first.file_name(), second.file_name());
}

TEST(EventWriter, RefusesOptionsThatMakeNoSense) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(EventWriter(folder.path(), {.max_queue = -1}), Error);
  EXPECT_THROW(EventWriter(folder.path(), {.flush_secs = 0}), Error);
  EXPECT_THROW(EventWriter(folder.path(), {.filename_suffix = "/x"}), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(EventWriter, SaysWhereItCannotWrite) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("logs")) << "a file, not a folder";
  EXPECT_THAT(test::error_of([&] { EventWriter writer(folder.file("logs")); }),
              testing::HasSubstr("EventWriter: a file must be made in log_dir. Received: file="));
}

TEST(EventWriter, SaysWhenTheDiskIsFullAndGoesOnWhenItIsNot) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.max_queue = 1'000'000, .flush_secs = kNever});
  ::rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_signal = std::signal(SIGXFSZ, SIG_IGN);
  const ::rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int step = 0; step < 100; ++step) writer.add_scalar("loss", step, step);
  const std::string error = test::error_of([&] { writer.flush(); });
  const std::size_t events = events_of(writer.file_name()).size();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, on_signal);
  EXPECT_THAT(error, testing::HasSubstr("EventWriter: events must be written. Received: file="));
  EXPECT_EQ(events, 1u);  // nothing half written
  writer.add_scalar("loss", 100, 100);
  writer.flush();
  EXPECT_EQ(events_of(writer.file_name()).size(), 102u);
}

TEST(Histogram, CountsValuesInBucketsOfEqualWidth) {
  const Tensor rows = histogram(Tensor::of<float>({0, 1, 1.5, 2, 4}, {5}), 4);
  EXPECT_EQ(rows.to_vector<double>(), (std::vector<double>{0, 1, 1, 1, 2, 2, 2, 3, 1, 3, 4, 1}));
}

TEST(Histogram, OfEqualValuesOrNone) {
  EXPECT_EQ(histogram(Tensor::of<float>({2, 2}, {2}), 2).to_vector<double>(), (std::vector<double>{2, 2, 0, 2, 2, 2}));
  EXPECT_EQ(histogram(Tensor::of<float>({}, {0}), 1).to_vector<double>(), (std::vector<double>{0, 0, 0}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(histogram(Tensor::of<float>({1, infinity}, {2}), 1).to_vector<double>(), (std::vector<double>{1, 1, 1}));
  EXPECT_THROW(histogram(Tensor::of<float>({1}, {1}), 0), Error);
}

}  // namespace
}  // namespace cohort::summary
