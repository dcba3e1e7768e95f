#pragma once

#include <string>
#include <vector>

namespace cohort {
class Timeline;
struct TimelineTrack;
}  // namespace cohort

namespace cohort::summary {

// Writes a timeline as JSON of the Trace Event Format, which chrome://tracing and ui.perfetto.dev open: a complete
// event ("ph": "X", times in microseconds from the first span) for each span, and a counter's ("ph": "C") for each
// number. Below the thread's own stand those of its devices, then those of other threads and processes; arrows lead
// along spans with the same flow. The file appears whole or not at all.
void write_chrome_trace(const std::string& path, const Timeline& timeline,
                        const std::vector<TimelineTrack>& others = {});

}  // namespace cohort::summary
