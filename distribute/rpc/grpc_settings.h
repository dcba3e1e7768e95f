#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>
#include <string>

#include "cohort/distribute/rpc/message_reader.h"

namespace cohort::distribute::rpc {

// The protocol's version is part of the names: another one finds nobody.
inline constexpr char kMessagesMethod[] = "/cohort.v1.Task/Messages";
inline constexpr char kHeartbeatMethod[] = "/cohort.v1.Task/Heartbeat";

// What gRPC says on its own goes to the log's debug level instead of standard error.
void quiet_grpc();

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, std::chrono::milliseconds connect_timeout);
void apply_server_settings(grpc::ServerBuilder& builder);

// Feeds one chunk to the reader; true when its message is complete.
bool read_chunk(grpc::ByteBuffer& chunk, MessageReader& reader);

}  // namespace cohort::distribute::rpc
