#include "benchmarks/transport_bench.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include "benchmarks/plain_grpc_stream.h"
#include "cohort/distribute/rpc/transport.h"

extern char** environ;

namespace cohort::bench {
namespace {

namespace rpc = distribute::rpc;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Answers with the request's parts, or with as many bytes as head.function asks for.
class BenchService : public rpc::Service {
 public:
  void handle(const rpc::Message& request, rpc::Message& reply) override {
    if (request.head.function == 0) {
      if (request.parts[0].bytes() <= 64) reply.parts = request.parts;
    } else {
      reply.parts = {values_.rows(0, static_cast<std::int64_t>(request.head.function))};
    }
  }

 private:
  Tensor values_ = Tensor::full({static_cast<std::int64_t>(256 * kMiB)}, 1, DType::UInt8);
};

// The second process; ends with this one.
class ServerProcess {
 public:
  ServerProcess() {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("transport_bench: no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    char program[] = "/proc/self/exe";
    std::string argument = kTransportServerArgument;
    char* arguments[] = {program, argument.data(), nullptr};
    const int failed = posix_spawn(&pid_, program, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    FILE* lines = fdopen(out[0], "r");
    char ours[128], plain[128];
    if (failed || std::fscanf(lines, "%127s %127s", ours, plain) != 2) {
      throw std::runtime_error("transport_bench: the server process does not serve");
    }
    std::fclose(lines);
    address = ours;
    plain_address = plain;
  }
  ~ServerProcess() {
    close(input_);
    waitpid(pid_, nullptr, 0);
  }
  std::string address, plain_address;

 private:
  pid_t pid_ = -1;
  int input_ = -1;
};

// What one way does with each of the three loads.
struct Way {
  std::string name;
  std::function<void()> round_trip;
  std::function<void(std::size_t bytes)> push, pull;
  std::vector<double> round_trips;                            // of each round, in microseconds
  double push_1 = 0, push_256 = 0, pull_1 = 0, pull_256 = 0;  // the best, in GB/s
};

double seconds(int repeats, const std::function<void()>& work) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

void keep_best(double& best, std::size_t bytes, int repeats, const std::function<void(std::size_t)>& move) {
  const double took = seconds(repeats, [&] { move(bytes); });
  best = std::max(best, static_cast<double>(bytes) / took * 1e-9);
}

Way way_over(const std::string& name, std::shared_ptr<rpc::Connection> connection) {
  struct State {
    std::shared_ptr<rpc::Connection> connection;
    std::unique_ptr<rpc::Stream> stream;
    rpc::Message request, reply;
    Tensor small = Tensor::full({64}, 1, DType::UInt8);
    Tensor large = Tensor::full({static_cast<std::int64_t>(256 * kMiB)}, 1, DType::UInt8);
  };
  auto state = std::make_shared<State>();
  state->stream = connection->open();
  state->connection = std::move(connection);
  const auto call = [state](const Tensor& part, std::uint64_t answer) {
    state->request.head.function = answer;
    state->request.parts.assign(1, part);
    state->stream->call(state->request, state->reply);
  };
  return {name,
          [=] { call(state->small, 0); },
          [=](std::size_t bytes) { call(state->large.rows(0, static_cast<std::int64_t>(bytes)), 0); },
          [=](std::size_t bytes) { call(state->small, bytes); },
          {}};
}

// Rounds take turns, so that what else the machine does meets all alike.
void measure(std::vector<Way>& ways) {
  constexpr int kRounds = 7;
  for (int round = 0; round < kRounds; ++round) {
    for (Way& way : ways) {
      way.round_trips.push_back(1e6 * seconds(2000, way.round_trip));
      keep_best(way.push_1, kMiB, 100, way.push);
      keep_best(way.pull_1, kMiB, 100, way.pull);
      keep_best(way.push_256, 256 * kMiB, 2, way.push);
      keep_best(way.pull_256, 256 * kMiB, 2, way.pull);
    }
  }
  for (Way& way : ways) std::sort(way.round_trips.begin(), way.round_trips.end());
}

std::string to_json(const Way& way) {
  char text[512];
  std::snprintf(text, sizeof text,
                "{\"transport\": \"%s\", \"round_trip_64B_us\": %.2f, \"push_1MiB_GBps\": %.3f, "
                "\"push_256MiB_GBps\": %.3f, \"pull_1MiB_GBps\": %.3f, \"pull_256MiB_GBps\": %.3f}",
                way.name.c_str(), way.round_trips[way.round_trips.size() / 2], way.push_1, way.push_256, way.pull_1,
                way.pull_256);
  return text;
}

}  // namespace

int serve_transport_bench() {
  BenchService service;
  rpc::Listener listener("127.0.0.1:0", service, "bench:0");
  PlainServer plain;
  std::printf("%s %s\n", listener.address().c_str(), plain.address().c_str());
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}

std::string transport_bench(const std::vector<std::string>& transports) {
  std::vector<Way> networked, local;
  {
    ServerProcess process;
    auto plain = std::make_shared<PlainClient>(process.plain_address);
    networked.push_back({"plain gRPC stream",
                         [=] { plain->round_trip(); },
                         [=](std::size_t bytes) { plain->push(bytes); },
                         [=](std::size_t bytes) { plain->pull(bytes); },
                         {}});
    for (const std::string& transport : transports) {
      if (transport == "in_process") continue;
      networked.push_back(way_over(transport, rpc::connect({"bench:0", process.address}, {.transport = transport})));
    }
    measure(networked);
    for (Way& way : networked) way.round_trip = nullptr, way.push = way.pull = nullptr;
  }
  // Only now: the threads of a server here would take part in gRPC's waiting.
  if (std::find(transports.begin(), transports.end(), "in_process") != transports.end()) {
    BenchService service;
    rpc::Listener here("127.0.0.1:0", service, "bench:0");
    local.push_back(way_over("in_process", rpc::connect({"bench:0", here.address()}, {.transport = "in_process"})));
    measure(local);
    local[0].round_trip = nullptr, local[0].push = local[0].pull = nullptr;
  }
  std::string json = "{\"job\": \"transport\", \"cores\": " + std::to_string(std::thread::hardware_concurrency()) +
                     ", \"transports\": [";
  const char* separator = "";
  for (const auto* ways : {&networked, &local}) {
    for (const Way& way : *ways) {
      json += separator + to_json(way);
      separator = ", ";
    }
  }
  return json + "]}";
}

}  // namespace cohort::bench
