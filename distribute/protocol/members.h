#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {

inline constexpr std::int64_t kHighestMember = 65535;
inline constexpr std::size_t kLongestMemberAddress = 300, kMostMembers = 4096;

// A worker that has joined.
struct Member {
  std::int64_t index = 0;
  std::string address;
  std::uint64_t incarnation = 0;
};

// What a book of members says.
struct MemberList {
  std::uint64_t generation = 0;
  std::vector<Member> members = {};  // by index
};

proto::MembersProto describe_question(std::uint64_t known, std::chrono::milliseconds wait);
// Throws DataLoss for an answer that cannot be.
MemberList read_members(const proto::MembersReplyProto& reply);

// Asks the task that keeps the book; it answers once the generation is another than `known`, or after `wait`.
template <class Stream>
MemberList ask_members(Stream& keeper, std::uint64_t known, std::chrono::milliseconds wait) {
  return read_members(call<Method::Members>(keeper, {}, describe_question(known, wait)).metadata);
}

}  // namespace cohort::distribute
