#include "cohort/summary/chrome_trace.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cohort/core/timeline.h"
#include "cohort/files/atomic_file.h"

namespace cohort::summary {
namespace {

using TraceJson = nlohmann::ordered_json;

double microseconds(Timeline::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

TraceJson trace_name(const char* what, int process, const char* name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", 0}, {"args", {{"name", name}}}};
}

}  // namespace

void write_chrome_trace(const std::string& path, const Timeline& timeline) {
  const int process = ::getpid();
  Timeline::Clock::time_point start = Timeline::Clock::time_point::max();
  for (const Timeline::Span& span : timeline.spans()) start = std::min(start, span.begin);
  TraceJson events =
      TraceJson::array({trace_name("process_name", process, "cohort"), trace_name("thread_name", process, "fit")});
  for (const Timeline::Span& span : timeline.spans()) {
    TraceJson event = {{"ph", "X"},
                       {"name", span.name},
                       {"cat", span.category},
                       {"pid", process},
                       {"tid", 0},
                       {"ts", microseconds(span.begin - start)},
                       {"dur", microseconds(span.end - span.begin)}};
    if (span.number >= 0) event["args"] = {{"number", span.number}};
    events.push_back(std::move(event));
  }
  TraceJson trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  if (timeline.dropped() > 0) trace["otherData"] = {{"spans_left_out", timeline.dropped()}};
  write_file_atomically(path, trace.dump(-1, ' ', false, TraceJson::error_handler_t::replace));
}

}  // namespace cohort::summary
