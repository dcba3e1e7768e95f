#pragma once

#include <cohort/cohort.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace cohort::bench {

// A job on a cluster of this machine.
struct ClusterBenchOptions {
  std::string strategy = "ps", job = "dense10", transport = "auto";
  int workers = 3, ps = 2, threads = 0;
  bool in_process = false;
  std::int64_t epochs = 5, steps = 200, steps_per_execution = 10, closures = 0, bytes_per_pack = 0;
};

using BenchClock = std::chrono::steady_clock;
double seconds_since(BenchClock::time_point start);

// What a pipeline of the job's data reads, as the peers have it.
Dataset make_cluster_data(const ClusterBenchOptions& options, std::int64_t pipeline);

// Prints a line of JSON for each epoch, with the peers' keys.
struct EpochReport : Callback {
  EpochReport(const ClusterBenchOptions& options, BenchClock::time_point started)
      : options(options), started(started) {}
  void on_epoch_begin(std::int64_t) override { epoch_started = BenchClock::now(); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  const ClusterBenchOptions options;
  const BenchClock::time_point started;
  BenchClock::time_point epoch_started;
};

}  // namespace cohort::bench
