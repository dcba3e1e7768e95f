#include "cohort/summary/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/summary/event.pb.h"
#include "cohort/summary/record.h"
#include "tests/support/paths.h"

namespace cohort::summary {
namespace {

std::vector<Event> events_of(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  std::vector<Event> events;
  std::size_t position = 0;
  std::string_view record;
  while (next_record(bytes, position, record)) {
    EXPECT_TRUE(events.emplace_back().ParseFromArray(record.data(), static_cast<int>(record.size())));
  }
  return events;
}

TEST(EventWriter, WritesScalarsAsTensorsOfTheScalarsPage) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.file("logs/train"));
  EXPECT_EQ(writer.file_name(), "");
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

TEST(EventWriter, KeepsEventsInMemoryUntilFlushed) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.flush_seconds = 1e9});
  writer.add_scalar("loss", 1.0, 0);
  EXPECT_EQ(events_of(writer.file_name()).size(), 0u);
  writer.flush();
  EXPECT_EQ(events_of(writer.file_name()).size(), 2u);
  writer.add_text("note", "*hello*", 1);
  writer.close();
  EXPECT_EQ(events_of(writer.file_name()).size(), 3u);
}

TEST(EventWriter, WritesOutByItselfOnceTheBufferIsFull) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.buffer_bytes = 1000, .flush_seconds = 1e9});
  for (int step = 0; step < 100; ++step) writer.add_scalar("loss", step, step);
  EXPECT_GT(events_of(writer.file_name()).size(), 80u);
}

TEST(EventWriter, TakesEventsFromManyThreads) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.buffer_bytes = 500});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&writer, t] {
      for (int step = 0; step < 50; ++step) writer.add_scalar("t" + std::to_string(t), step, step);
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  EXPECT_EQ(events_of(writer.file_name()).size(), 201u);
}

TEST(EventWriter, SaysWhereItCannotWrite) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("logs")) << "a file, not a folder";
  EventWriter writer(folder.file("logs"));
  try {
    writer.add_scalar("loss", 1.0, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("EventWriter: a file must be made in log_dir. Received: file="));
  }
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
