#include "cohort/distribute/rpc/grpc_server.h"

#include <grpcpp/server.h>
#include <grpcpp/support/method_handler.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/handling.h"
#include "cohort/distribute/rpc/message_writer.h"

namespace cohort::distribute::rpc {
namespace {

using ServerStream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// What generated code would be, for messages that are no protobufs.
class TaskMethods : public grpc::Service {
 public:
  explicit TaskMethods(rpc::Service& service) : service_(service) {
    add(kMessagesMethod, &TaskMethods::serve_messages);
    add(kHeartbeatMethod, &TaskMethods::serve_heartbeat);
  }

  void stop() {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    stopped_.notify_all();
  }

 private:
  using Serve = grpc::Status (TaskMethods::*)(grpc::ServerContext*, ServerStream*);
  void add(const char* name, Serve serve) {
    using Handler = grpc::internal::BidiStreamingHandler<TaskMethods, grpc::ByteBuffer, grpc::ByteBuffer>;
    AddMethod(new grpc::internal::RpcServiceMethod(
        name, grpc::internal::RpcMethod::BIDI_STREAMING,
        new Handler([serve](TaskMethods* self, grpc::ServerContext* context,
                            ServerStream* stream) { return (self->*serve)(context, stream); },
                    this)));
  }

  grpc::Status serve_messages(grpc::ServerContext*, ServerStream* stream) {
    Message request, reply;
    MessageReader reader;
    MessageWriter writer;
    grpc::ByteBuffer chunk;
    while (stream->Read(&chunk)) {
      try {
        if (!read_chunk(chunk, reader)) continue;
      } catch (const Error& error) {
        return grpc::Status(grpc::StatusCode::DATA_LOSS, error.what());
      }
      reader.give(request);
      if (is_stopping()) break;
      std::uint32_t status = handle_request(service_, request, reply);
      request.parts.clear();
      try {
        writer.begin(reply, status);
      } catch (const Error& error) {
        reply.meta = error.what();
        reply.parts.clear();
        writer.begin(reply, 1 + static_cast<std::uint32_t>(error.code()));
      }
      reply.parts.clear();
      while (writer.next(chunk)) {
        if (!stream->Write(chunk)) return grpc::Status::CANCELLED;
      }
    }
    return is_stopping() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server has stopped") : grpc::Status::OK;
  }

  // The caller says how often it wants to hear that this process is alive.
  grpc::Status serve_heartbeat(grpc::ServerContext* context, ServerStream* stream) {
    grpc::ByteBuffer asked;
    grpc::Slice text;
    if (!stream->Read(&asked) || !asked.DumpToSingleSlice(&text).ok()) return grpc::Status::CANCELLED;
    std::uint32_t milliseconds = 0;
    if (text.size() != sizeof milliseconds) return grpc::Status(grpc::StatusCode::DATA_LOSS, "malformed heartbeat");
    std::memcpy(&milliseconds, text.begin(), sizeof milliseconds);
    const std::chrono::milliseconds interval(std::clamp(milliseconds, 10u, 60'000u));
    std::unique_lock lock(mutex_);
    while (!stopping_ && !context->IsCancelled()) {
      lock.unlock();
      if (!stream->Write(asked)) return grpc::Status::CANCELLED;
      lock.lock();
      stopped_.wait_for(lock, interval, [&] { return stopping_; });
    }
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server has stopped");
  }

  bool is_stopping() {
    std::lock_guard lock(mutex_);
    return stopping_;
  }

  rpc::Service& service_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
};

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
  Body(const Address& address, Service& service, const std::string& task) : methods_(service) {
    quiet_grpc();
    grpc::ServerBuilder builder;
    apply_server_settings(builder);
    builder.AddListeningPort(address.numeric(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&methods_);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0) {
      throw Error(ErrorCode::AlreadyExists, task, "the address to listen on must be free",
                  {{"address", address.to_string()}, {"reason", reason_not_to_listen(address)}},
                  "Choose another port, 0 for any that is free, or stop whoever has it.");
    }
  }
  void stop() {
    methods_.stop();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  int port() const { return port_; }

 private:
  TaskMethods methods_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

GrpcServer::GrpcServer(const Address& address, Service& service, const std::string& task)
    : body_(std::make_unique<Body>(address, service, task)) {}
GrpcServer::~GrpcServer() { stop(); }
int GrpcServer::port() const { return body_->port(); }
void GrpcServer::stop() { body_->stop(); }

}  // namespace cohort::distribute::rpc
