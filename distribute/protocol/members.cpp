#include "cohort/distribute/protocol/members.h"

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute {

proto::MembersProto describe_question(std::uint64_t known, std::chrono::milliseconds wait) {
  proto::MembersProto question;
  question.set_generation(known);
  question.set_wait(static_cast<std::uint32_t>(wait.count()));
  return question;
}

MemberList read_members(const proto::MembersReplyProto& reply) {
  constexpr const char* kWho = "MemberBook";
  if (reply.members_size() > static_cast<int>(kMostMembers)) {
    throw Error(ErrorCode::DataLoss, kWho, "fewer members are expected", {{"members", reply.members_size()}});
  }
  MemberList list{.generation = reply.generation()};
  for (const proto::MemberProto& member : reply.members()) {
    const std::int64_t before = list.members.empty() ? -1 : list.members.back().index;
    if (member.task_index() <= before || member.task_index() > kHighestMember ||
        member.address().size() > kLongestMemberAddress) {
      throw Error(ErrorCode::DataLoss, kWho, "members by their indices are expected",
                  {{"index", member.task_index()}, {"bytes of the address", member.address().size()}});
    }
    parse_address(member.address(), kWho);
    list.members.push_back({member.task_index(), member.address(), member.incarnation()});
  }
  return list;
}

}  // namespace cohort::distribute
