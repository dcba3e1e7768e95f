#pragma once

#include <cohort/cohort.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cohort::bench {

// A training job the project is measured on; the peers' scripts have the same.
struct Job {
  std::int64_t batch;    // samples of a batch
  std::int64_t batches;  // of an epoch on one machine
  LossArgument loss;
  // Its layers take the strategy and the types that hold when this is called.
  std::function<std::unique_ptr<Model>()> make_model;
  // Inputs and targets of that many samples.
  std::function<std::pair<Tensor, Tensor>(std::int64_t samples, std::mt19937& random)> make_data;
};

// layers: how many the job `thin` has; the others have their own.
Job make_job(const std::string& name, std::int64_t layers = 100);
std::vector<std::string> job_names();

}  // namespace cohort::bench
