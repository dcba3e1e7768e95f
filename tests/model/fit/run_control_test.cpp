#include "cohort/model/fit/run_control.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cohort/model/fit/local_runner.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::Linear;

// Asks for figures and keeps what it is told after each epoch.
class Inquirer : public Callback {
 public:
  explicit Inquirer(std::vector<std::string> names, std::vector<std::string> not_asked_for = {})
      : names_(std::move(names)), not_asked_for_(std::move(not_asked_for)) {}
  void on_train_begin() override {
    for (const std::string& name : names_) known[name] = run().measure(name);
  }
  void on_epoch_end(std::int64_t, Logs&) override {
    for (const auto& names : {names_, not_asked_for_}) {
      for (const std::string& name : names) told[name].push_back(run().measured(name));
    }
  }

  std::map<std::string, bool> known;
  std::map<std::string, std::vector<std::optional<double>>> told;

 private:
  std::vector<std::string> names_, not_asked_for_;
};

void fit_ten_rows(const std::shared_ptr<Inquirer>& inquirer) {
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(Tensor::full({10, 2}, 1.0), Tensor::full({10, 1}, 1.0),
            {.batch_size = 4, .epochs = 2, .verbose = 0, .callbacks = {Ref<Callback>(inquirer)}});
}

TEST(RunControl, MeasuresWhatItIsAskedFor) {
  const auto inquirer = std::make_shared<Inquirer>(std::vector<std::string>{"steps", "examples", "moon_phase"});
  fit_ten_rows(inquirer);
  EXPECT_TRUE(inquirer->known["steps"]);
  EXPECT_TRUE(inquirer->known["examples"]);
  EXPECT_FALSE(inquirer->known["moon_phase"]);
  EXPECT_EQ(inquirer->told["steps"], (std::vector<std::optional<double>>{3.0, 3.0}));
  EXPECT_EQ(inquirer->told["examples"], (std::vector<std::optional<double>>{10.0, 10.0}));
  EXPECT_EQ(inquirer->told["moon_phase"], (std::vector<std::optional<double>>{std::nullopt, std::nullopt}));
}

TEST(RunControl, TellsWhatItWasNotAskedForOnlyWhereThatIsSteps) {
  using Names = std::vector<std::string>;
  const auto waits = std::make_shared<Inquirer>(Names{"seconds_waiting_for_data"}, Names{"steps", "examples"});
  fit_ten_rows(waits);
  EXPECT_EQ(waits->told["steps"], (std::vector<std::optional<double>>{3.0, 3.0}));
  EXPECT_EQ(waits->told["examples"], (std::vector<std::optional<double>>{std::nullopt, std::nullopt}));
  EXPECT_GT(waits->told["seconds_waiting_for_data"].at(1).value_or(0.0), 0.0);
  const auto counts = std::make_shared<Inquirer>(Names{"examples"}, Names{"seconds_waiting_for_data"});
  fit_ten_rows(counts);
  EXPECT_EQ(counts->told["examples"], (std::vector<std::optional<double>>{10.0, 10.0}));
  EXPECT_EQ(counts->told["seconds_waiting_for_data"], (std::vector<std::optional<double>>{std::nullopt, std::nullopt}));
}

class CountingRunner : public LocalRunner {
 public:
  using LocalRunner::LocalRunner;
  Execution run(std::int64_t first_step, std::int64_t steps) override {
    ++executions_;
    return LocalRunner::run(first_step, steps);
  }
  bool measure(std::string_view name) override { return name == "executions" || LocalRunner::measure(name); }
  std::optional<double> measured(std::string_view name) const override {
    return name == "executions" ? executions_ : LocalRunner::measured(name);
  }

 private:
  double executions_ = 0;
};

class CountingStrategy : public Strategy {
 public:
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<CountingRunner>(std::move(program), data, options);
  }
};

TEST(RunControl, AsksTheRunnerForWhatOnlyThatKnows) {
  StrategyScope scope(std::make_shared<CountingStrategy>());
  const auto inquirer = std::make_shared<Inquirer>(std::vector<std::string>{"executions"});
  fit_ten_rows(inquirer);
  EXPECT_TRUE(inquirer->known["executions"]);
  EXPECT_EQ(inquirer->told["executions"], (std::vector<std::optional<double>>{3.0, 6.0}));
}

}  // namespace
}  // namespace cohort
