#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cohort::bench {

// What a number of the command line may be.
struct Limits {
  double lowest = std::numeric_limits<double>::lowest();
  double highest = std::numeric_limits<double>::max();
};
inline constexpr Limits kPositive{.lowest = std::numeric_limits<double>::min()};

// The options of a benchmark. The library that reads them takes longer to compile than a benchmark and is compiled
// once.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  void add(const std::string& names, int& value, const std::string& help, Limits limits = {});
  void add(const std::string& names, std::int64_t& value, const std::string& help, Limits limits = {});
  void add(const std::string& names, double& value, const std::string& help, Limits limits = {});
  void add(const std::string& names, std::string& value, const std::string& help);
  void add(const std::string& names, bool& value, const std::string& help);
  // Given without a number (or as --name=NUMBER) it is `when_given`.
  void add(const std::string& names, std::int64_t& value, std::int64_t when_given, const std::string& help);
  void add_choice(const std::string& names, std::string& value, const std::string& help,
                  const std::vector<std::string>& choices);
  void add_required_choice(const std::string& names, std::string& value, const std::string& help,
                           const std::vector<std::string>& choices);
  void add_folder(const std::string& names, std::string& value, const std::string& help);

  // The exit status, where the program has nothing to do but end.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace cohort::bench
