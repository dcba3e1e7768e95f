#include "benchmarks/cohort_cluster_bench_allreduce.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <span>

#include "benchmarks/bench_process.h"
#include "cohort/core/buffer.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/collective/communicator.h"

namespace cohort::bench {
namespace {

namespace collective = distribute::collective;

constexpr char kRank[] = "--rank-of-allreduce-bench";
constexpr std::size_t kSizes[] = {std::size_t{1} << 10, std::size_t{64} << 10, std::size_t{1} << 20,
                                  std::size_t{16} << 20, std::size_t{64} << 20};
constexpr int kWarmUps = 3, kTries = 5;

double seconds_of_all_reduce(collective::Communicator& communicator, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  const Owned<Buffer> buffer = Buffer::allocate(cpu(), bytes);  // as gradients lie
  const std::span values(static_cast<float*>(buffer->data()), bytes / sizeof(float));
  std::fill(values.begin(), values.end(), 1.0f);
  const auto count = static_cast<std::int64_t>(values.size());
  const std::size_t repeats = std::clamp<std::size_t>((std::size_t{64} << 20) / bytes, 3, 200);
  for (int i = 0; i < kWarmUps; ++i) communicator.all_reduce(values.data(), count, DType::Float32);
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTries; ++i) {
    // Sums that grow without end would be infinite soon, and that may take another time.
    std::fill(values.begin(), values.end(), 0.0f);
    communicator.barrier();
    const auto started = Clock::now();
    for (std::size_t k = 0; k < repeats; ++k) communicator.all_reduce(values.data(), count, DType::Float32);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - started).count() / static_cast<double>(repeats));
  }
  return best;
}

// Arguments: rank, transport, the one size or 0, addresses of all.
void run_rank(const std::vector<std::string>& arguments) {
  const collective::CommunicatorSetUp set_up{.addresses = {arguments.begin() + 3, arguments.end()},
                                             .rank = std::stoi(arguments[0]),
                                             .options = {.transport = arguments[1]}};
  const auto communicator = collective::make_communicator(set_up);
  const int world = communicator->size();
  const std::size_t only = std::stoull(arguments[2]);
  for (const std::size_t bytes : only > 0 ? std::span(&only, 1) : std::span(kSizes)) {
    const double seconds = seconds_of_all_reduce(*communicator, bytes);
    if (communicator->rank() != 0) continue;
    const double bus = 2.0 * (world - 1) / world * static_cast<double>(bytes) / seconds / 1e9;
    std::printf(
        "{\"peer\": \"cohort\", \"transport\": \"%s\", \"world\": %d, \"bytes\": %zu, \"us\": %.1f, "
        "\"bus_gb_s\": %.3f}\n",
        communicator->transport(world - 1), world, bytes, seconds * 1e6, bus);
    std::fflush(stdout);
  }
}

}  // namespace

std::optional<int> run_allreduce_bench_process(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5 || arguments.front() != kRank) return std::nullopt;
  try {
    run_rank({arguments.begin() + 1, arguments.end()});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

int allreduce_bench(int workers, const std::string& transport, std::int64_t bytes) {
  const distribute::ClusterSpec spec = distribute::local_cluster_spec({{"worker", workers}});
  std::vector<std::string> addresses;
  for (int rank = 0; rank < workers; ++rank) addresses.push_back(spec.task_address("worker", rank));
  std::vector<std::vector<std::string>> arguments;
  for (int rank = 0; rank < workers; ++rank) {
    std::vector<std::string>& own =
        arguments.emplace_back(std::vector{std::string(kRank), std::to_string(rank), transport, std::to_string(bytes)});
    own.insert(own.end(), addresses.begin(), addresses.end());
  }
  return run_side_by_side(arguments) ? 0 : 1;
}

}  // namespace cohort::bench
