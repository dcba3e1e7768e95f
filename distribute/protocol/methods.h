#pragma once

#include "cohort/distribute/protocol/message.h"

namespace cohort::proto {
class ClosureProto;
class ClosureResultProto;
class CreatePipelineProto;
class CreateVariableProto;
class ExtendSessionProto;
class HelloProto;
class HelloReplyProto;
class JoinProto;
class JoinReplyProto;
class LeaveProto;
class MembersProto;
class MembersReplyProto;
class OpenSessionProto;
class OpenSessionReplyProto;
class RegisterPartProto;
class RegisterServerProto;
class RegisterWorkerProto;
class ReleasePartsProto;
class ReleaseProto;
class RunGraphProto;
class RunPartProto;
class RunSessionProto;
class RunSessionReplyProto;
class TaskDevicesProto;
class TaskStatusProto;
class TraceProto;
class TraceResultProto;
}  // namespace cohort::proto

namespace cohort::distribute {

// Of a message that says all in its head and its parts.
struct NoMetadata {};

// Of a method with neither.
struct WithoutMetadata {
  using Request = NoMetadata;
  using Reply = NoMetadata;
};

// The metadata of each method's request and reply.
template <Method>
struct MetadataOf;
template <>
struct MetadataOf<Method::Hello> {
  using Request = proto::HelloProto;
  using Reply = proto::HelloReplyProto;
};
template <>
struct MetadataOf<Method::CreateVariable> {
  using Request = proto::CreateVariableProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::RegisterServer> {
  using Request = proto::RegisterServerProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::RegisterWorker> {
  using Request = proto::RegisterWorkerProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::CreatePipeline> {
  using Request = proto::CreatePipelineProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::RunGraph> {
  using Request = proto::RunGraphProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::Exchange> : WithoutMetadata {};
template <>
struct MetadataOf<Method::RunClosure> {
  using Request = proto::ClosureProto;
  using Reply = proto::ClosureResultProto;
};
template <>
struct MetadataOf<Method::Cancel> : WithoutMetadata {};
template <>
struct MetadataOf<Method::EndJob> : WithoutMetadata {};
template <>
struct MetadataOf<Method::Progress> : WithoutMetadata {};
template <>
struct MetadataOf<Method::ReachPs> : WithoutMetadata {};
template <>
struct MetadataOf<Method::Fence> : WithoutMetadata {};
template <>
struct MetadataOf<Method::Release> {
  using Request = proto::ReleaseProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::Status> {
  using Request = NoMetadata;
  using Reply = proto::TaskStatusProto;
};
template <>
struct MetadataOf<Method::Trace> {
  using Request = proto::TraceProto;
  using Reply = proto::TraceResultProto;
};
template <>
struct MetadataOf<Method::Join> {
  using Request = proto::JoinProto;
  using Reply = proto::JoinReplyProto;
};
template <>
struct MetadataOf<Method::Leave> {
  using Request = proto::LeaveProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::Members> {
  using Request = proto::MembersProto;
  using Reply = proto::MembersReplyProto;
};
template <>
struct MetadataOf<Method::OpenSession> {
  using Request = proto::OpenSessionProto;
  using Reply = proto::OpenSessionReplyProto;
};
template <>
struct MetadataOf<Method::ExtendSession> {
  using Request = proto::ExtendSessionProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::RunSession> {
  using Request = proto::RunSessionProto;
  using Reply = proto::RunSessionReplyProto;
};
template <>
struct MetadataOf<Method::CloseSession> : WithoutMetadata {};
template <>
struct MetadataOf<Method::ListDevices> {
  using Request = NoMetadata;
  using Reply = proto::TaskDevicesProto;
};
template <>
struct MetadataOf<Method::RegisterPart> {
  using Request = proto::RegisterPartProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::RunPart> {
  using Request = proto::RunPartProto;
  using Reply = NoMetadata;
};
template <>
struct MetadataOf<Method::ReleaseParts> {
  using Request = proto::ReleasePartsProto;
  using Reply = NoMetadata;
};

// A request as its handler sees it.
template <Method M>
struct Request {
  const Head& head;
  const typename MetadataOf<M>::Request& metadata;
  const Tensors& parts;
};

// What a handler fills in.
template <Method M>
struct Reply {
  Head& head;
  typename MetadataOf<M>::Reply& metadata;
  Tensors& parts;
};

}  // namespace cohort::distribute
