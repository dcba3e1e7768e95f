#pragma once

#include <sys/types.h>

#include "cohort/distribute/collective/communicator.h"

namespace cohort::distribute::collective::test {

// What ranks do over and over until one of them fails.
void reduce_for_ever(Communicator& communicator);

// A second process of this test binary that is one rank of a job, to be stopped and killed in earnest.
class RankProcess {
 public:
  explicit RankProcess(const CommunicatorSetUp& set_up);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  int input_ = -1;
};

}  // namespace cohort::distribute::collective::test
