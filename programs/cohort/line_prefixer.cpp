#include "programs/cohort/line_prefixer.h"

#include <unistd.h>

#include <cerrno>

namespace cohort::programs {
namespace {

// A "line" that never ends is cut here, so that it takes no more memory.
constexpr std::size_t kLongestLine = 64 << 10;

}  // namespace

bool LinePrefixer::write(std::string_view text) {
  std::string lines;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines.append(prefix_).append(line_).append(text.substr(0, end + 1));
    line_.clear();
  }
  line_.append(text);
  if (line_.size() > kLongestLine) {
    lines.append(prefix_).append(line_).append("\n");
    line_.clear();
  }
  return write_all(output_, lines);
}

bool LinePrefixer::finish() { return line_.empty() || write("\n"); }

bool write_all(int output, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(output, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace cohort::programs
