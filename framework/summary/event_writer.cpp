#include "cohort/summary/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "cohort/core/error.h"
#include "cohort/summary/event.pb.h"
#include "cohort/summary/record.h"

namespace cohort::summary {
namespace {

// TensorFlow's numbers of the types that occur in summaries.
constexpr int kFloat = 1, kDouble = 2, kString = 7;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string new_file_name(const std::string& suffix) {
  static std::atomic<int> files{0};
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  return "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(wall_time())) + "." + host + "." +
         std::to_string(getpid()) + "." + std::to_string(files++) + suffix;
}

Event new_event(std::int64_t step) {
  Event event;
  event.set_wall_time(wall_time());
  event.set_step(step);
  return event;
}

Summary::Value& add_value(Event& event, const std::string& tag, const char* plugin, std::string_view content = {}) {
  Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  auto& data = *value.mutable_metadata()->mutable_plugin_data();
  data.set_plugin_name(plugin);
  data.set_content(content.data(), content.size());
  return value;
}

}  // namespace

class EventWriter::File {
 public:
  File(std::string folder, EventWriterOptions options) : folder_(std::move(folder)), options_(std::move(options)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void add(const Event& event) {
    const std::lock_guard lock(mutex_);
    if (descriptor_ < 0) open();
    append_record(buffer_, event.SerializeAsString());
    const auto waiting = std::chrono::steady_clock::now() - last_write_;
    if (buffer_.size() >= options_.buffer_bytes ||
        std::chrono::duration<double>(waiting).count() >= options_.flush_seconds) {
      write_out();
    }
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    if (descriptor_ >= 0) write_out();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (descriptor_ < 0) return;
    write_out();
    const bool good = ::fsync(descriptor_) == 0;
    const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
    if (!good || !closed) throw failure("the file must be written to the disk");
  }
  std::string path() const {
    const std::lock_guard lock(mutex_);
    return path_;
  }

 private:
  Error failure(std::string_view expected) const {
    return Error(ErrorCode::ResourceExhausted, "EventWriter", expected,
                 {{"file", path_}, {"error", std::strerror(errno)}},
                 "See that log_dir is writable and the disk not full.");
  }
  void open() {
    std::error_code problem;
    std::filesystem::create_directories(folder_, problem);
    path_ = (std::filesystem::path(folder_) / new_file_name(options_.filename_suffix)).string();
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw failure("a file must be made in log_dir");
    Event version;
    version.set_wall_time(wall_time());
    version.set_file_version("brain.Event:2");
    version.mutable_source_metadata()->set_writer("cohort.summary.event_writer");
    append_record(buffer_, version.SerializeAsString());
    last_write_ = std::chrono::steady_clock::now();
  }
  void write_out() {
    std::size_t done = 0;
    while (done < buffer_.size()) {
      const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        buffer_.erase(0, done);
        throw failure("events must be written");
      }
      done += static_cast<std::size_t>(written);
    }
    buffer_.clear();
    last_write_ = std::chrono::steady_clock::now();
  }

  const std::string folder_;
  const EventWriterOptions options_;
  mutable std::mutex mutex_;
  int descriptor_ = -1;
  std::string path_;
  std::string buffer_;
  std::chrono::steady_clock::time_point last_write_;
};

EventWriter::EventWriter(std::string log_dir, EventWriterOptions options)
    : file_(std::make_unique<File>(std::move(log_dir), std::move(options))) {}

EventWriter::~EventWriter() {
  try {
    file_->close();
  } catch (const Error&) {
    // A destructor cannot report; close() does.
  }
}

void EventWriter::add_scalar(const std::string& tag, double value, std::int64_t step) {
  Event event = new_event(step);
  TensorProto& tensor = *add_value(event, tag, "scalars").mutable_tensor();
  const auto single = static_cast<float>(value);
  tensor.set_dtype(kFloat);
  tensor.mutable_tensor_shape();
  tensor.set_tensor_content(&single, sizeof(single));
  file_->add(event);
}

void EventWriter::add_histogram(const std::string& tag, const Tensor& values, std::int64_t step, int buckets) {
  const Tensor rows = histogram(values, buckets);
  Event event = new_event(step);
  TensorProto& tensor = *add_value(event, tag, "histograms").mutable_tensor();
  tensor.set_dtype(kDouble);
  for (const std::int64_t size : rows.shape()) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  tensor.set_tensor_content(rows.raw(), rows.bytes());
  file_->add(event);
}

void EventWriter::add_text(const std::string& tag, std::string_view text, std::int64_t step) {
  Event event = new_event(step);
  TensorProto& tensor = *add_value(event, tag, "text").mutable_tensor();
  tensor.set_dtype(kString);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(text.data(), text.size());
  file_->add(event);
}

void EventWriter::add_keras_model(const std::string& tag, std::string_view model_json, std::int64_t step) {
  Event event = new_event(step);
  TensorProto& tensor = *add_value(event, tag, "graph_keras_model", "1").mutable_tensor();
  tensor.set_dtype(kString);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(model_json.data(), model_json.size());
  file_->add(event);
}

void EventWriter::flush() { file_->flush(); }
void EventWriter::close() { file_->close(); }
std::string EventWriter::file_name() const { return file_->path(); }

}  // namespace cohort::summary
