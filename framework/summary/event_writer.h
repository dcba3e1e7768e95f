#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/summary/event_file.h"

namespace cohort {
class Graph;
}

namespace cohort::summary {

class Event;

// What add_image and add_images take besides the images.
struct ImageOptions {
  std::int64_t max_outputs = 3;  // images beyond these are left out
  std::string description = {};  // Markdown
};

// What add_audio takes besides the sound.
struct AudioOptions {
  std::int64_t max_outputs = 3;  // clips beyond these are left out
  std::string description = {};  // Markdown
};

// A hyperparameter's value: a number, a truth value or text.
class HParam {
 public:
  template <class T>
  requires(std::integral<T> || std::floating_point<T>) HParam(T value) : value_(static_cast<double>(value)) {}
  HParam(bool value) : value_(value) {}
  HParam(std::string value) : value_(std::move(value)) {}
  HParam(const char* value) : value_(std::string(value)) {}
  // The value.
  const std::variant<double, bool, std::string>& value() const { return value_; }

 private:
  std::variant<double, bool, std::string> value_;
};
// Hyperparameters by name.
using HParams = std::map<std::string, HParam>;

// What add_hparams takes besides the values.
struct HParamsOptions {
  std::string trial_id = {};  // trials of one id are shown as repetitions of one another
};

// Writes what TensorBoard shows into one event file of a folder, in the form of TensorFlow 2's summaries. The folder's
// path below the one that TensorBoard is given is the name of the run. Thread-safe; no call waits for the disk except
// flush and close, and none writes half an event: a killed process leaves everything up to its last flush.
class EventWriter {
 public:
  // Begins a file.
  //   log_dir: its folder, made if need be.
  explicit EventWriter(std::string log_dir, EventWriterOptions options = {});
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // A number for the page of scalars; all calls with one tag make a curve over the steps.
  void add_scalar(const std::string& tag, double value, std::int64_t step);
  // Counts of the tensor's values in buckets of equal width.
  void add_histogram(const std::string& tag, const Tensor& values, std::int64_t step, int buckets = 30);
  // One image of shape (height, width) or (height, width, channels): uint8, or floating and clipped to 0 to 1.
  void add_image(const std::string& tag, const Tensor& image, std::int64_t step, ImageOptions options = {});
  // Images of shape (count, height, width, channels).
  void add_images(const std::string& tag, const Tensor& images, std::int64_t step, ImageOptions options = {});
  // Floating sound of shape (frames,), (frames, channels) or (clips, frames, channels), clipped to -1 to 1.
  void add_audio(const std::string& tag, const Tensor& audio, std::int64_t sample_rate, std::int64_t step,
                 AudioOptions options = {});
  // Markdown for the text page.
  void add_text(const std::string& tag, std::string_view text, std::int64_t step);
  // A graph of ops for the graph page; names of nodes nest at their slashes. A run has one.
  void add_graph(const Graph& graph);
  // A model's JSON for the graph page, as Keras's callback writes it.
  void add_keras_model(const std::string& tag, std::string_view model_json, std::int64_t step);
  // The graph that a profiled step ran, under a tag of its own on the graph page, as Keras's callback writes it.
  void add_run_graph(const std::string& tag, const Graph& graph, std::int64_t step);
  // What this run was made with and, when it is over, the figures to compare it by: a row of the hparams page.
  void add_hparams(const HParams& hparams, const std::map<std::string, double>& metrics = {},
                   const HParamsOptions& options = {});

  // Waits until everything added so far is in the file.
  void flush();
  // Writes everything out, to the disk; nothing can be added from then on.
  void close();
  // Path of the file being written.
  const std::string& file_name() const { return file_.path(); }

 private:
  void add(const Event& event);
  EventFile file_;
};

// Rows of (left edge, right edge, count) of buckets that cover all values: float64 of shape (buckets, 3).
Tensor histogram(const Tensor& values, int buckets = 30);

}  // namespace cohort::summary
