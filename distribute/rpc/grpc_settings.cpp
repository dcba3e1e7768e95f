#include "cohort/distribute/rpc/grpc_settings.h"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <malloc.h>

#include <algorithm>
#include <mutex>

#include "cohort/core/log.h"
#include "cohort/distribute/rpc/wire.h"

namespace cohort::distribute::rpc {
namespace {

constexpr int kReceiveLimit = 2 * static_cast<int>(wire::kChunkBytes);

void log_quietly(gpr_log_func_args* said) {
  if (log::enabled(log::Level::Debug)) log::debug(std::string("gRPC: ") + said->message);
}

template <class Take>
void for_each_piece(grpc::ByteBuffer& chunk, const Take& take) {
  grpc::ProtoBufferReader pieces(&chunk);
  const void* bytes = nullptr;
  int count = 0;
  while (pieces.Next(&bytes, &count)) take(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

}  // namespace

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(log_quietly);
    // Debian's Abseil looks for deadlocks in every lock it takes, at a few percent of a round trip.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    // gRPC receives into blocks fresh from the heap, whose pages glibc would give back after each message and fault in
    // again for the next: a quarter of the time. These are the limits that glibc comes to by itself once a block of
    // 32 MiB has been freed.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
  });
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, std::chrono::milliseconds connect_timeout,
                                            const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  quiet_grpc();
  const int timeout = static_cast<int>(std::max<std::int64_t>(connect_timeout.count(), 100));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReceiveLimit);
  arguments.SetMaxSendMessageSize(kReceiveLimit);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, timeout);  // gRPC's limit for one attempt to connect, too
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A channel never shares another's connection, which may be found dead any moment.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

void apply_server_settings(grpc::ServerBuilder& builder, const ServingLimits& limits) {
  builder.SetMaxReceiveMessageSize(kReceiveLimit);
  builder.SetMaxSendMessageSize(kReceiveLimit);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams_per_connection + 1);  // the heartbeat
  // A link always has its heartbeat.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60'000);
}

void cancel_and_drain(grpc::ClientContext& context, grpc::CompletionQueue& queue) {
  context.TryCancel();
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) continue;
}

grpc::Status server_has_stopped() { return {grpc::StatusCode::UNAVAILABLE, "the server has stopped"}; }

bool read_chunk(grpc::ByteBuffer& chunk, MessageReader& reader) {
  reader.begin_chunk(chunk.Length());
  for_each_piece(chunk, [&](const char* bytes, std::size_t count) { reader.take(bytes, count); });
  const bool complete = reader.end_chunk();
  if (reader.wants_again()) read_chunk_again(chunk, reader);
  return complete;
}

void read_chunk_again(grpc::ByteBuffer& chunk, MessageReader& reader) {
  for_each_piece(chunk, [&](const char* bytes, std::size_t count) { reader.take_again(bytes, count); });
}

}  // namespace cohort::distribute::rpc
