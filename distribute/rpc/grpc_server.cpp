#include "cohort/distribute/rpc/grpc_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "cohort/distribute/rpc/grpc_credentials.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/heartbeats.h"
#include "cohort/distribute/rpc/served_calls.h"

namespace cohort::distribute::rpc {
namespace {

// With numbers in the place of zeros.
ServingLimits checked_limits(ServingLimits limits, const std::string& task) {
  // Where cores are few, a thread that hands over to another costs more than it brings.
  if (limits.network_threads == 0) {
    const auto wanted = static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u));
    limits.network_threads = std::clamp(limits.threads, 1, wanted);
  }
  const std::uint64_t memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  if (limits.message_bytes == 0) limits.message_bytes = memory / 4 * 3;
  if (limits.message_bytes_per_connection == 0) limits.message_bytes_per_connection = memory / 2;
  if (limits.network_threads < 1 || limits.threads < limits.network_threads || limits.streams < 1 ||
      limits.streams_per_connection < 1) {
    throw invalid_argument(task, "a server needs threads and streams",
                           {{"network_threads", limits.network_threads},
                            {"threads", limits.threads},
                            {"streams", limits.streams},
                            {"streams_per_connection", limits.streams_per_connection}});
  }
  return limits;
}

// gRPC does not say why it could not listen: a socket of our own finds out.
std::string reason_not_to_listen(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  const int socket = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  if (socket < 0) return std::strerror(errno);
  int failed = 0;
  if (v6) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(static_cast<std::uint16_t>(address.port));
    name.sin6_addr = in6addr_loopback;
    failed = bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name);
  } else {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(address.port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    failed = bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }
  const int error = errno;
  close(socket);
  return failed ? std::strerror(error) : "gRPC could not listen";
}

}  // namespace

class GrpcServer::Body {
 public:
  Body(const Address& address, Service& service, const std::string& task, const ServingLimits& asked,
       const Security* security) {
    const ServingLimits limits = checked_limits(asked, task);
    quiet_grpc();
    grpc::ServerBuilder builder;
    apply_server_settings(builder, limits);
    const ServerCredentials own = server_credentials(security);
    builder.AddListeningPort(address.numeric(), own.credentials, &port_);
    builder.RegisterAsyncGenericService(&generic_);
    heartbeats_ = std::make_unique<Heartbeats>(builder);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    threads_ = std::make_unique<ServingThreads>(*queue_, limits.network_threads, limits.threads);
    if (!server_ || port_ == 0) {
      end_threads();
      throw Error(ErrorCode::AlreadyExists, task, "the address to listen on must be free",
                  {{"address", address.to_string()}, {"reason", reason_not_to_listen(address)}},
                  "Choose another port, 0 for any that is free, or stop whoever has it.");
    }
    calls_ = std::make_unique<ServedCalls>(generic_, *queue_, service, limits, Doorkeeper(security, own.fingerprint));
    calls_->accept();
    heartbeats_->start(*calls_, *threads_);
  }
  void stop() {
    std::lock_guard lock(mutex_);
    if (!threads_) return;
    calls_->stop();
    heartbeats_->stop();
    server_->Shutdown(std::chrono::system_clock::now());
    calls_->wait_for_all();
    end_threads();
  }
  int port() const { return port_; }

 private:
  void end_threads() {
    heartbeats_->end();
    queue_->Shutdown();
    threads_.reset();
  }

  int port_ = 0;
  grpc::AsyncGenericService generic_;
  std::unique_ptr<Heartbeats> heartbeats_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ServedCalls> calls_;
  std::mutex mutex_;
  std::unique_ptr<ServingThreads> threads_;  // guarded by the mutex; none once stopped
};

GrpcServer::GrpcServer(const Address& address, Service& service, const std::string& task, const ServingLimits& limits,
                       const Security* security)
    : body_(std::make_unique<Body>(address, service, task, limits, security)) {}
GrpcServer::~GrpcServer() { stop(); }
int GrpcServer::port() const { return body_->port(); }
void GrpcServer::stop() { body_->stop(); }

}  // namespace cohort::distribute::rpc
