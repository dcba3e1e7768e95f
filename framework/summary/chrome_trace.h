#pragma once

#include <string>

namespace cohort {
class Timeline;
}

namespace cohort::summary {

// Writes a timeline as JSON of the Trace Event Format, which chrome://tracing and ui.perfetto.dev open: a complete
// event ("ph": "X", times in microseconds from its first span) for each span. The file appears whole or not at all.
void write_chrome_trace(const std::string& path, const Timeline& timeline);

}  // namespace cohort::summary
