#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cohort/core/tensor.h"

namespace cohort::summary {

struct EventWriterOptions {
  // Events wait in memory until this many bytes or seconds have come together.
  std::size_t buffer_bytes = std::size_t{1} << 20;
  double flush_seconds = 2.0;
  std::string filename_suffix = ".v2";
};

// Writes what TensorBoard shows into one event file of a folder: events.out.tfevents.<time>.<host>.<pid>.<n>.v2, made
// with the first event. Thread-safe.
class EventWriter {
 public:
  explicit EventWriter(std::string log_dir, EventWriterOptions options = {});
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void add_scalar(const std::string& tag, double value, std::int64_t step);
  // Counts of the tensor's values in buckets of equal width.
  void add_histogram(const std::string& tag, const Tensor& values, std::int64_t step, int buckets = 30);
  // Markdown for the text page.
  void add_text(const std::string& tag, std::string_view text, std::int64_t step);
  // A model's JSON for the graph page, as Keras's callback writes it.
  void add_keras_model(const std::string& tag, std::string_view model_json, std::int64_t step);

  void flush();
  // Writes everything out; later events begin a new file.
  void close();
  // Path of the file being written, empty before the first event.
  std::string file_name() const;

 private:
  class File;
  std::unique_ptr<File> file_;
};

// Rows of (left edge, right edge, count) of buckets that cover all values: float64 of shape (buckets, 3).
Tensor histogram(const Tensor& values, int buckets = 30);

}  // namespace cohort::summary
