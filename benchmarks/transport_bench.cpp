#include "benchmarks/transport_bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "benchmarks/bench_process.h"
#include "benchmarks/plain_grpc_stream.h"
#include "cohort/distribute/cluster/certificates.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::bench {
namespace {

namespace rpc = distribute::rpc;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr char kServe[] = "--serve-transport-bench", kCarry[] = "--carry-transport-bench";
constexpr char kPlain[] = "plain gRPC stream";

// Answers with 64 bytes, or with as many as head.function asks for.
class BenchService : public rpc::Service {
 public:
  void handle(const distribute::Message& request, distribute::Message& reply) override {
    const std::uint64_t bytes = request.head.function == 0 ? 64 : request.head.function;
    reply.parts.assign(1, values_.rows(0, static_cast<std::int64_t>(bytes)));
  }
  bool is_quick(const distribute::Message& request) const override { return request.parts.at(0).bytes() <= 64; }

 private:
  Tensor values_ = Tensor::full({static_cast<std::int64_t>(256 * kMiB)}, 1, DType::UInt8);
};

// What is measured, in this order: once round trips, then bandwidths there and back.
enum Load { kRoundTrip, kPush1, kPull1, kPushMany, kPullMany, kPush256, kPull256, kLoads };
constexpr std::array<const char*, kLoads> kKeys{"round_trip_64B_us",     "push_1MiB_GBps",        "pull_1MiB_GBps",
                                                "push_1MiB_stream_GBps", "pull_1MiB_stream_GBps", "push_256MiB_GBps",
                                                "pull_256MiB_GBps"};
constexpr std::array<std::size_t, kLoads> kBytes{64, kMiB, kMiB, 64 * kMiB, 64 * kMiB, 256 * kMiB, 256 * kMiB};
constexpr std::array<int, kLoads> kRepeats{2000, 100, 100, 2, 2, 3, 3};

using Carry = std::function<void(Load)>;

Carry carry_plain(const std::string& address) {
  return [client = std::make_shared<PlainClient>(address)](Load load) {
    const std::size_t messages = kBytes[load] / kMiB;
    if (load == kRoundTrip) return client->round_trip();
    const bool push = load == kPush1 || load == kPushMany || load == kPush256;
    push ? client->push(messages) : client->pull(messages);
  };
}

// A stream of messages as the transport carries them.
class TransportClient {
 public:
  explicit TransportClient(std::shared_ptr<rpc::Connection> connection)
      : connection_(std::move(connection)), stream_(connection_->open()) {}

  void carry(Load load) {
    const std::size_t bytes = kBytes[load];
    switch (load) {
      case kRoundTrip:
        return call(small_, 0);
      case kPush1:
      case kPush256:
        return call(large_.rows(0, static_cast<std::int64_t>(bytes)), 0);
      case kPull1:
      case kPull256:
        return call(small_, bytes);
      case kPushMany:
      case kPullMany:
      default:
        return many(load == kPushMany, bytes / kMiB);
    }
  }

 private:
  void send(const Tensor& part, std::uint64_t answer) {
    request_.head.function = answer;
    request_.parts.assign(1, part);
    stream_->send(request_);
  }
  void call(const Tensor& part, std::uint64_t answer) {
    send(part, answer);
    stream_->receive(reply_);
  }
  // As many requests in flight at once as keep the other side busy.
  void many(bool push, std::size_t messages) {
    constexpr std::size_t kUnderWay = 4;
    const auto megabyte = static_cast<std::int64_t>(kMiB);
    for (std::size_t i = 0; i < messages; ++i) {
      const auto start = static_cast<std::int64_t>(i) * megabyte;
      push ? send(large_.rows(start, megabyte), 0) : send(small_, kMiB);
      if (i + 1 >= kUnderWay) stream_->receive(reply_);
    }
    for (std::size_t i = 1; i < std::min(kUnderWay, messages); ++i) stream_->receive(reply_);
  }

  std::shared_ptr<rpc::Connection> connection_;
  std::unique_ptr<rpc::Stream> stream_;
  distribute::Message request_, reply_;
  Tensor small_ = Tensor::full({64}, 1, DType::UInt8);
  Tensor large_ = Tensor::full({static_cast<std::int64_t>(256 * kMiB)}, 1, DType::UInt8);
};

// What both sides of "tcp, secret" and "tcp, certificates" prove with; nullptr for other ways. The files of the
// latter are made by whoever measures, who names their folder in the environment.
constexpr char kSecret[] = ", secret", kCertificates[] = ", certificates", kFolder[] = "COHORT_BENCH_FOLDER";

std::shared_ptr<const distribute::Security> security_of(const std::string& way) {
  if (way.ends_with(kSecret)) {
    distribute::Security security{.kind = distribute::Security::Kind::Secret, .secret = std::string(32, 's')};
    security.own = {.cluster = "", .job = "bench", .index = 0};
    return std::make_shared<distribute::Security>(security);
  }
  if (!way.ends_with(kCertificates)) return nullptr;
  const std::string folder = std::getenv(kFolder);
  return distribute::make_security({.ca_certificate = folder + "/ca.pem",
                                    .certificate = folder + "/bench.pem",
                                    .private_key = folder + "/bench.key"},
                                   "bench:0");
}

// The folder of an authority and a certificate of its own, as long as it lives.
class BenchCertificates {
 public:
  BenchCertificates() {
    std::string name = std::filesystem::temp_directory_path() / "cohort_bench_XXXXXX";
    folder_ = mkdtemp(name.data());
    const auto authority = distribute::make_authority("bench", 1);
    const auto own = distribute::make_task_certificate(authority, {"bench", "bench", 0}, {}, 1);
    std::ofstream(folder_ / "ca.pem") << authority.certificate;
    std::ofstream(folder_ / "bench.pem") << own.certificate;
    std::ofstream(folder_ / "bench.key") << own.key;
    setenv(kFolder, folder_.c_str(), 1);
  }
  ~BenchCertificates() { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_;
};

Carry carry_over(const std::string& way, const std::string& address) {
  const auto security = security_of(way);
  auto client = std::make_shared<TransportClient>(
      rpc::connect({"bench:0", address}, {.transport = way.substr(0, way.find(',')), .security = security}));
  return [client](Load load) { client->carry(load); };
}

double measure(const Carry& carry, Load load) {
  // While the others had their turns, memory for large messages went back to the system: a steady state has it.
  if (kBytes[load] == 256 * kMiB) carry(load), carry(load);
  const auto start = Clock::now();
  for (int i = 0; i < kRepeats[load]; ++i) carry(load);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count() / kRepeats[load];
  return load == kRoundTrip ? 1e6 * seconds : 1e-9 * static_cast<double>(kBytes[load]) / seconds;
}

// One way to move bytes, and what was measured of it in each round.
struct Way {
  std::string name;
  std::function<double(Load)> measure;
  std::array<std::vector<double>, kLoads> measured = {};
};

Way way_in_this_process() {
  auto service = std::make_shared<BenchService>();
  auto listener = std::make_shared<rpc::Listener>("127.0.0.1:0", *service, "bench:0");
  const Carry carry = carry_over("in_process", listener->address());
  return {"in_process", [service, listener, carry](Load load) { return measure(carry, load); }};
}

Way way_between_processes(const std::string& transport) {
  auto server = std::make_shared<BenchProcess>(std::vector<std::string>{kServe, transport});
  const std::string address = server->ask("address");
  auto client = std::make_shared<BenchProcess>(std::vector<std::string>{kCarry, transport, address});
  return {transport, [server, client](Load load) { return std::stod(client->ask(std::to_string(load))); }};
}

// Rounds take turns, load by load, so that what else the machine does meets all alike. The first warms up.
void measure_rounds(std::vector<Way>& ways, int rounds, const std::string& only) {
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t load = 0; load < kLoads; ++load) {
      if (std::string_view(kKeys[load]).find(only) == std::string_view::npos) continue;
      for (Way& way : ways) {
        const double value = way.measure(static_cast<Load>(load));
        if (round >= 0) way.measured[load].push_back(value);
      }
    }
  }
}

struct Spread {
  double low, median, high;
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 4], values[values.size() / 2], values[values.size() - 1 - values.size() / 4]};
}

std::string to_json(const Way& way, const Way* plain) {
  std::string json = "{\"transport\": \"" + way.name + '"';
  char text[160];
  for (std::size_t load = 0; load < kLoads; ++load) {
    if (way.measured[load].empty()) continue;
    const Spread found = spread(way.measured[load]);
    std::snprintf(text, sizeof text, ", \"%s\": %.3f, \"%s_quartiles\": [%.3f, %.3f]", kKeys[load], found.median,
                  kKeys[load], found.low, found.high);
    json += text;
    if (plain == nullptr) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < way.measured[load].size(); ++i) {
      ratios.push_back(way.measured[load][i] / plain->measured[load][i]);
    }
    std::snprintf(text, sizeof text, ", \"%s_ratio\": %.3f", kKeys[load], spread(std::move(ratios)).median);
    json += text;
  }
  return json + '}';
}

}  // namespace

std::optional<int> run_transport_bench_process(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == kServe) {
    if (arguments[1] == kPlain) {
      PlainServer plain;
      answer_questions([&](const std::string&) { return plain.address(); });
    } else {
      BenchService service;
      const auto security = security_of(arguments[1]);
      rpc::Listener listener("127.0.0.1:0", service, "bench:0", {}, security.get());
      answer_questions([&](const std::string&) { return listener.address(); });
    }
    return 0;
  }
  if (arguments.size() == 3 && arguments[0] == kCarry) {
    const Carry carry = arguments[1] == kPlain ? carry_plain(arguments[2]) : carry_over(arguments[1], arguments[2]);
    answer_questions(
        [&](const std::string& load) { return std::to_string(measure(carry, static_cast<Load>(std::stoi(load)))); });
    return 0;
  }
  return std::nullopt;
}

std::string transport_bench(const std::vector<std::string>& transports, int rounds, const std::string& only) {
  const BenchCertificates certificates;
  std::vector<Way> networked, local;
  networked.push_back(way_between_processes(kPlain));
  for (const std::string& transport : transports) {
    if (transport == "in_process") {
      local.push_back(way_in_this_process());
    } else {
      networked.push_back(way_between_processes(transport));
    }
  }
  measure_rounds(networked, rounds, only);
  measure_rounds(local, rounds, only);
  std::string json = "{\"job\": \"transport\", \"cores\": " + std::to_string(std::thread::hardware_concurrency()) +
                     ", \"rounds\": " + std::to_string(rounds) + ", \"transports\": [";
  for (const Way& way : networked) {
    if (&way != &networked.front()) json += ", ";
    json += to_json(way, &way == &networked.front() ? nullptr : &networked.front());
  }
  for (const Way& way : local) json += ", " + to_json(way, nullptr);
  return json + "]}";
}

}  // namespace cohort::bench
