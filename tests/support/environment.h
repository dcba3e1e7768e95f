#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cohort::test {

// Environment variables as given while it lives (without a value: not set), then as they were before.
class EnvironmentVariables {
 public:
  explicit EnvironmentVariables(const std::map<std::string, std::optional<std::string>>& values) {
    for (const auto& [name, value] : values) {
      const char* given = std::getenv(name.c_str());
      before_[name] = given ? std::optional<std::string>(given) : std::nullopt;
      set(name, value);
    }
  }
  ~EnvironmentVariables() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  EnvironmentVariables(const EnvironmentVariables&) = delete;
  EnvironmentVariables& operator=(const EnvironmentVariables&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }

  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace cohort::test
