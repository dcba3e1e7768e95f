#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "cohort/distribute/rpc/message_reader.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// The protocol's version is part of the names: another one finds nobody.
inline constexpr char kMessagesMethod[] = "/cohort.v1.Task/Messages";
// Its call's metadata name memory of the caller's; the task answers once, with the nonce that it reads there. Then
// messages go through that memory, and the call lasts as long as the stream.
inline constexpr char kSharedMessagesMethod[] = "/cohort.v1.Task/SharedMessages";
inline constexpr char kSharedMemoryKey[] = "cohort-shared-memory";
// The task answers once, with a SocketTicket. Then messages go through a connection that the caller begins with it, to
// the same address, and the call lasts as long as the stream.
inline constexpr char kSocketMessagesMethod[] = "/cohort.v1.Task/SocketMessages";
inline constexpr char kHeartbeatMethod[] = "/cohort.v1.Task/Heartbeat";
// How often a caller wants to hear of the task, in milliseconds; metadata of the heartbeat's call.
inline constexpr char kHeartbeatInterval[] = "cohort-heartbeat-milliseconds";

// What a caller's heartbeat call says of it, where it names itself.
inline constexpr char kCallerKey[] = "cohort-caller";

// What gRPC says on its own goes to the log's debug level instead of standard error.
void quiet_grpc();

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, std::chrono::milliseconds connect_timeout,
                                            const std::shared_ptr<grpc::ChannelCredentials>& credentials);
void apply_server_settings(grpc::ServerBuilder& builder, const ServingLimits& limits);

// The deadline of whoever looks into a completion queue without waiting: for the present gRPC waits a millisecond.
inline constexpr std::chrono::system_clock::time_point kLongAgo{};

// Ends a client's call and its queue, and waits until nothing of it is under way any more.
void cancel_and_drain(grpc::ClientContext& context, grpc::CompletionQueue& queue);

// What calls end with when their server stops.
grpc::Status server_has_stopped();

// Feeds one chunk to the reader; true when its message is complete.
bool read_chunk(grpc::ByteBuffer& chunk, MessageReader& reader);
// For a reader that wants it after it was admitted.
void read_chunk_again(grpc::ByteBuffer& chunk, MessageReader& reader);

}  // namespace cohort::distribute::rpc
