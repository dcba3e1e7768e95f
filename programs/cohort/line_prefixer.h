#pragma once

#include <string>
#include <string_view>

namespace cohort::programs {

// Copies what a task prints to one of our own streams, whole lines at a time, with the task's name before each.
class LinePrefixer {
 public:
  LinePrefixer(std::string_view name, int output) : prefix_(std::string(name) + " | "), output_(output) {}
  // False once nobody reads the output any more.
  bool write(std::string_view text);
  // The last line may have no end.
  bool finish();

 private:
  std::string prefix_;
  int output_;
  std::string line_;  // begun, not ended
};

// Writes all of it, over interruptions; false when nobody reads.
bool write_all(int output, std::string_view text);

}  // namespace cohort::programs
