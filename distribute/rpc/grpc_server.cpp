#include "cohort/distribute/rpc/grpc_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "cohort/distribute/rpc/front_door.h"
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
  // A socket each: the rest is for callers, data and checkpoints.
  limits.carried_streams = std::min(limits.carried_streams, share_of_files(8));
  if (limits.network_threads < 1 || limits.threads < limits.network_threads || limits.streams < 1 ||
      limits.streams_per_connection < 1 || limits.silent_connections < 1 || limits.unproven_connections < 1) {
    throw invalid_argument(task, "a server needs threads and streams",
                           {{"network_threads", limits.network_threads},
                            {"threads", limits.threads},
                            {"streams", limits.streams},
                            {"streams_per_connection", limits.streams_per_connection},
                            {"silent_connections", limits.silent_connections},
                            {"unproven_connections", limits.unproven_connections}});
  }
  return limits;
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
    door_ = std::make_unique<FrontDoor>(address, task, security && security->kind != Security::Kind::Insecure,
                                        DoorLimits{.waiting = limits.silent_connections,
                                                   .strangers = limits.unproven_connections,
                                                   .patience = limits.connection_patience});
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, own.credentials);
    builder.RegisterAsyncGenericService(&generic_);
    heartbeats_ = std::make_unique<Heartbeats>(builder);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    threads_ = std::make_unique<ServingThreads>(*queue_, limits.network_threads, limits.threads);
    if (!server_) {
      end_threads();
      throw internal_error(task, "gRPC must be able to serve", {{"address", address.to_string()}});
    }
    calls_ = std::make_unique<ServedCalls>(generic_, *queue_, service, limits, Doorkeeper(security, own.fingerprint),
                                           *door_);
    calls_->accept();
    heartbeats_->start(*calls_, *threads_);
    door_->open([this](int listener, int connection) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters arrival;
      arrival.listener_fd = listener;
      arrival.fd = connection;
      acceptor_->HandleNewConnection(&arrival);
    });
  }
  void stop() {
    std::lock_guard lock(mutex_);
    if (!threads_) return;
    door_->close();
    calls_->stop();
    heartbeats_->stop();
    server_->Shutdown(std::chrono::system_clock::now());
    calls_->wait_for_all();
    end_threads();
  }
  void await_answers(std::chrono::steady_clock::time_point until) const { calls_->await_answers(until); }
  int port() const { return door_->port(); }

 private:
  void end_threads() {
    heartbeats_->end();
    queue_->Shutdown();
    threads_.reset();
  }

  std::unique_ptr<FrontDoor> door_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
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
void GrpcServer::await_answers(std::chrono::steady_clock::time_point until) const { body_->await_answers(until); }
void GrpcServer::stop() { body_->stop(); }

}  // namespace cohort::distribute::rpc
