#include "cohort/summary/event_writer.h"

#include "cohort/core/error.h"
#include "cohort/summary/event.h"
#include "cohort/summary/event.pb.h"
#include "cohort/summary/graph_def.h"

namespace cohort::summary {
namespace {

std::string file_version_event() {
  Event version;
  version.set_wall_time(wall_time());
  version.set_file_version("brain.Event:2");
  version.mutable_source_metadata()->set_writer("cohort.summary.event_writer");
  return version.SerializeAsString();
}

}  // namespace

EventWriter::EventWriter(std::string log_dir, EventWriterOptions options)
    : file_(log_dir, std::move(options), file_version_event()) {}

EventWriter::~EventWriter() = default;

void EventWriter::add(const Event& event) {
  // What protobuf, and so TensorBoard, can read as one message.
  constexpr std::size_t kLargestEvent = 0x7fffffff;
  if (event.ByteSizeLong() > kLargestEvent) {
    throw invalid_argument("EventWriter", "an event must stay below 2 GiB", {{"bytes", event.ByteSizeLong()}});
  }
  file_.add(event.SerializeAsString());
}

void EventWriter::add_scalar(const std::string& tag, double value, std::int64_t step) {
  Event event = new_event(step);
  TensorProto& tensor = *add_value(event, tag, "scalars").mutable_tensor();
  const auto single = static_cast<float>(value);
  tensor.set_dtype(kTensorFlowFloat);
  tensor.mutable_tensor_shape();
  tensor.set_tensor_content(&single, sizeof(single));
  add(event);
}

void EventWriter::add_histogram(const std::string& tag, const Tensor& values, std::int64_t step, int buckets) {
  const Tensor rows = histogram(values, buckets);
  Event event = new_event(step);
  TensorProto& tensor = *add_value(event, tag, "histograms").mutable_tensor();
  tensor.set_dtype(kTensorFlowDouble);
  for (const std::int64_t size : rows.shape()) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  tensor.set_tensor_content(rows.raw(), rows.bytes());
  add(event);
}

void EventWriter::add_text(const std::string& tag, std::string_view text, std::int64_t step) {
  Event event = new_event(step);
  set_text(*add_value(event, tag, "text").mutable_tensor(), text);
  add(event);
}

void EventWriter::add_keras_model(const std::string& tag, std::string_view model_json, std::int64_t step) {
  Event event = new_event(step);
  set_text(*add_value(event, tag, "graph_keras_model", "1").mutable_tensor(), model_json);
  add(event);
}

void EventWriter::add_graph(const Graph& graph) {
  Event event = new_event(0);
  event.set_graph_def(graph_def(graph).SerializeAsString());
  add(event);
}

void EventWriter::add_run_graph(const std::string& tag, const Graph& graph, std::int64_t step) {
  RunMetadata run;
  *run.add_function_graphs()->mutable_pre_optimization_graph() = graph_def(graph);
  Event event = new_event(step);
  set_text(*add_value(event, tag, "graph_run_metadata_graph", "1").mutable_tensor(), run.SerializeAsString());
  add(event);
}

void EventWriter::flush() { file_.flush(); }
void EventWriter::close() { file_.close(); }

}  // namespace cohort::summary
