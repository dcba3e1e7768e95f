#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/core/random.h"
#include "cohort/data/element.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"
#include "cohort/metrics/metric.h"
#include "cohort/model/fit/logs.h"

namespace cohort {

class Model;

// One step of a program for elements of one spec, as a graph over the element's leaves (arguments) and what it
// captured.
struct StepGraph {
  ElementSpec spec;  // batch axes unknown
  // The graph and what it captured.
  TracedGraph traced;
  // The graph, made ready for the shapes met.
  std::unique_ptr<ExecutableCache> executables;
  ElementSpec outputs;  // structure of what a predict step gives
};

// The figures of a model's metrics, computed together.
struct ResultGraph {
  // The metrics, and the names of their figures.
  std::vector<Ref<Metric>> metrics;
  std::vector<std::string> names;
  Logs figures;  // the latest, sorted by name
  // The graph that computes them.
  TracedGraph traced;
  // That graph, made ready.
  std::unique_ptr<ExecutableCache> executables;
};

// What fit, evaluate or predict does with one batch: Model::train_step, test_step or predict_step, traced once per
// element spec. Thread-safe; it lives as long as its model is compiled one way.
class Program : public std::enable_shared_from_this<Program> {
 public:
  enum class Kind { Train, Test, Predict };

  Program(Model& model, Kind kind);

  // Which of the model's steps it is.
  Kind kind() const { return kind_; }
  // The model it belongs to.
  Model& model() const { return *model_; }
  // True when the steps' code runs line by line.
  bool eager() const;
  // The step for elements like these, traced if need be.
  const StepGraph& step(const ElementSpec& spec);
  // The step traced last; nullptr when none was.
  const StepGraph* latest_step();
  // Runs the step's code line by line on concrete tensors.
  Element run_eagerly(const Element& element, const RandomState& random);
  // Gets the running figures, sorted by name.
  void read_results(Logs& logs);
  // Zeroes the model's metrics.
  void reset_metrics();

 private:
  Element call_step(const Element& element);
  const StepGraph* find_step(const ElementSpec& spec);
  Model* model_;
  Kind kind_;
  std::mutex mutex_;  // guards what follows; taken after the model's trace mutex
  std::vector<std::unique_ptr<StepGraph>> steps_;
  std::unique_ptr<ResultGraph> results_;
  Tensors result_values_;
};

}  // namespace cohort
