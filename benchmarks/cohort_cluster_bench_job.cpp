#include "benchmarks/cohort_cluster_bench_job.h"

#include <cohort/core/cpu_level.h>

#include <cstdio>
#include <random>

#include "benchmarks/jobs.h"

namespace cohort::bench {

double seconds_since(BenchClock::time_point start) {
  return std::chrono::duration<double>(BenchClock::now() - start).count();
}

Dataset make_cluster_data(const ClusterBenchOptions& options, std::int64_t pipeline) {
  const Job job = make_job(options.job);
  const std::int64_t batches = options.job == "mlp" ? 20 : 10;  // as the peers have them
  std::mt19937 random(static_cast<unsigned>(pipeline));
  const auto [x, y] = job.make_data(job.batch * batches, random);
  return datasets::from_tensor_slices(x, y).batch(job.batch, {.drop_remainder = true}).cache().repeat().prefetch(4);
}

void EpochReport::on_epoch_end(std::int64_t epoch, Logs& logs) {
  const double ms = seconds_since(epoch_started) * 1e3 / static_cast<double>(options.steps);
  std::printf(
      "{\"strategy\": \"%s\", \"job\": \"%s\", \"in_process\": %s, \"transport\": \"%s\", \"workers\": %d, \"ps\": "
      "%d, \"cpu\": \"%s\", \"threads\": %d, "
      "\"spe\": %lld, \"epoch\": %lld, \"ms_per_step\": %.4f, \"since_start_s\": %.3f, \"loss\": %.4f}\n",
      options.strategy.c_str(), options.job.c_str(), options.in_process ? "true" : "false", options.transport.c_str(),
      options.workers, options.ps, std::string(cpu_level()).c_str(), options.threads,
      static_cast<long long>(options.steps_per_execution), static_cast<long long>(epoch), ms, seconds_since(started),
      logs.at("loss"));
  std::fflush(stdout);
}

}  // namespace cohort::bench
