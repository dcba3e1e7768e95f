#include "cohort/summary/chrome_trace.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cohort/core/timeline.h"
#include "cohort/files/atomic_file.h"

namespace cohort::summary {
namespace {

using TraceJson = nlohmann::ordered_json;

double microseconds(Timeline::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

// One thread of a trace.
struct Lane {
  int process, thread;
  const Timeline& timeline;
};

// Where a span with a flow begins.
struct FlowPoint {
  Timeline::Clock::time_point time;
  const Lane* lane;
};

TraceJson trace_name(const char* what, const Lane& lane, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", lane.process}, {"tid", lane.thread}, {"args", {{"name", name}}}};
}

TraceJson trace_order(const Lane& lane, int place) {
  return {{"ph", "M"},
          {"name", "process_sort_index"},
          {"pid", lane.process},
          {"tid", lane.thread},
          {"args", {{"sort_index", place}}}};
}

void add_work(const KernelWork& work, TraceJson& arguments) {
  arguments["op"] = work.op;
  if (!work.shapes.empty()) arguments["shapes"] = work.shapes;
  if (work.operations > 0) arguments["operations"] = work.operations;
  if (work.bytes > 0) arguments["bytes"] = work.bytes;
}

TraceJson span_event(const Timeline::Span& span, const Lane& lane, Timeline::Clock::time_point start) {
  TraceJson event = {{"ph", "X"},
                     {"name", span.name},
                     {"cat", span.category},
                     {"pid", lane.process},
                     {"tid", lane.thread},
                     {"ts", microseconds(span.begin - start)},
                     {"dur", microseconds(span.end - span.begin)}};
  if (span.number >= 0) event["args"]["number"] = span.number;
  if (span.flow > 0) event["args"]["flow"] = span.flow;
  if (span.work) add_work(*span.work, event["args"]);
  return event;
}

TraceJson count_event(const Timeline::Count& count, const Lane& lane, Timeline::Clock::time_point start) {
  return {{"ph", "C"},
          {"name", count.name},
          {"pid", lane.process},
          {"tid", lane.thread},
          {"ts", microseconds(count.time - start)},
          {"args", {{"value", count.value}}}};
}

// An arrow through spans, in the order in which they began.
void append_flow(std::uint64_t flow, std::vector<FlowPoint> points, Timeline::Clock::time_point start,
                 TraceJson& events) {
  if (points.size() < 2) return;
  std::stable_sort(points.begin(), points.end(),
                   [](const FlowPoint& a, const FlowPoint& b) { return a.time < b.time; });
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool last = i + 1 == points.size();
    TraceJson event = {{"ph", i == 0 ? "s"
                              : last ? "f"
                                     : "t"},
                       {"name", "flow"},
                       {"cat", "flow"},
                       {"id", flow},
                       {"pid", points[i].lane->process},
                       {"tid", points[i].lane->thread},
                       {"ts", microseconds(points[i].time - start)}};
    if (last) event["bp"] = "e";  // ends at the span around it, not at the next one
    events.push_back(std::move(event));
  }
}

// This process first, with its devices, then the others in the order in which they come.
std::vector<Lane> lanes_of(const Timeline& timeline, const std::vector<TimelineTrack>& devices,
                           const std::vector<TimelineTrack>& others, TraceJson& events) {
  const int own = ::getpid();
  std::vector<Lane> lanes = {{own, 0, timeline}};
  events.push_back(trace_name("process_name", lanes[0], others.empty() ? "cohort" : "chief"));
  events.push_back(trace_name("thread_name", lanes[0], "fit"));
  events.push_back(trace_order(lanes[0], 0));
  std::map<std::string, int> threads = {{"", 1}}, processes = {{"", own}};
  for (const TimelineTrack& device : devices) {
    lanes.push_back({own, threads[""]++, device.timeline});
    events.push_back(trace_name("thread_name", lanes.back(), device.thread));
  }
  for (const TimelineTrack& track : others) {
    const auto [process, is_new] = processes.emplace(track.process, own + static_cast<int>(processes.size()));
    lanes.push_back({process->second, threads[track.process]++, track.timeline});
    events.push_back(trace_name("thread_name", lanes.back(), track.thread));
    if (!is_new) continue;
    events.push_back(trace_name("process_name", lanes.back(), track.process));
    events.push_back(trace_order(lanes.back(), process->second - own));
  }
  return lanes;
}

}  // namespace

void write_chrome_trace(const std::string& path, const Timeline& timeline, const std::vector<TimelineTrack>& others) {
  TraceJson events = TraceJson::array();
  const std::vector<TimelineTrack> devices = timeline.lanes();
  const std::vector<Lane> lanes = lanes_of(timeline, devices, others, events);
  Timeline::Clock::time_point start = Timeline::Clock::time_point::max();
  std::int64_t dropped = 0;
  for (const Lane& lane : lanes) {
    for (const Timeline::Span& span : lane.timeline.spans()) start = std::min(start, span.begin);
    for (const Timeline::Count& count : lane.timeline.counts()) start = std::min(start, count.time);
    dropped += lane.timeline.dropped();
  }
  std::map<std::uint64_t, std::vector<FlowPoint>> flows;
  for (const Lane& lane : lanes) {
    for (const Timeline::Span& span : lane.timeline.spans()) {
      events.push_back(span_event(span, lane, start));
      if (span.flow > 0) flows[span.flow].push_back({span.begin, &lane});
    }
    for (const Timeline::Count& count : lane.timeline.counts()) events.push_back(count_event(count, lane, start));
  }
  for (const auto& [flow, points] : flows) append_flow(flow, points, start, events);
  TraceJson trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  if (dropped > 0) trace["otherData"] = {{"spans_left_out", dropped}};
  write_file_atomically(path, trace.dump(-1, ' ', false, TraceJson::error_handler_t::replace));
}

}  // namespace cohort::summary
