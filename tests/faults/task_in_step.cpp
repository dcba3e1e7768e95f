#include "tests/faults/task_in_step.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <limits>
#include <sstream>

#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "tests/faults/processes_in_step.h"

namespace cohort::test {
namespace {

std::map<std::string, std::function<void(const TaskInStep&)>>& known_tasks() {
  static std::map<std::string, std::function<void(const TaskInStep&)>> tasks;
  return tasks;
}

// What the processes run.
TEST(TaskInStep, DISABLED_Runs) {
  const TaskInStep task(std::getenv(kTaskInStep));
  const std::string error = what_ended([&] { known_tasks().at(task.text("task"))(task); });
  std::ofstream("ended") << error;
}

}  // namespace

TaskInStep::TaskInStep(const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const std::size_t sign = word.find('=');
    values_[word.substr(0, sign)] = word.substr(sign + 1);
  }
}

std::string TaskInStep::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

double TaskInStep::number(const std::string& name, double otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : std::stod(found->second);
}

distribute::MultiWorkerMirroredStrategy TaskInStep::strategy() const {
  distribute::CommunicationOptions options{.implementation = text("implementation", "AUTO"),
                                           .start_timeout = number("start_timeout", 60.0),
                                           .dead_after = number("dead_after", kDeadAfterInStep),
                                           .transport = text("transport", "auto"),
                                           .address = text("address")};
  if (const std::string device = text("device"); !device.empty()) options.devices = {device};
  return distribute::MultiWorkerMirroredStrategy(distribute::TFConfigClusterResolver(), options);
}

KnownTaskInStep::KnownTaskInStep(const char* name, std::function<void(const TaskInStep&)> code) {
  known_tasks()[name] = std::move(code);
}

std::string what_ended(const std::function<void()>& code) {
  try {
    code();
  } catch (const std::exception& exception) {
    return exception.what();
  }
  return "no error";
}

void write_result(const TrainedInStep& result, const std::string& name) {
  std::ofstream file(name);
  file << std::setprecision(std::numeric_limits<double>::max_digits10);
  for (const auto& weight : result.weights) {
    file << "weight " << weight.size();
    for (const float value : weight) file << " " << value;
    file << "\n";
  }
  for (const auto& [figure, values] : result.history) {
    file << figure << " " << values.size();
    for (const double value : values) file << " " << value;
    file << "\n";
  }
}

TrainedInStep read_result(const std::string& name) {
  TrainedInStep result;
  std::ifstream file(name);
  std::string figure;
  std::size_t count = 0;
  while (file >> figure >> count) {
    std::vector<double> values(count);
    for (double& value : values) file >> value;
    if (figure == "weight") {
      result.weights.emplace_back(values.begin(), values.end());
    } else {
      result.history[figure] = values;
    }
  }
  return result;
}

}  // namespace cohort::test
