#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cohort/distribute/cluster/security_options.h"
#include "cohort/distribute/cluster/task_identity.h"

namespace cohort::distribute {

// How one task proves who it is and what it asks of others: options that have been checked.
struct Security {
  enum class Kind { Insecure, Certificates, Secret };
  Kind kind = Kind::Insecure;
  // The files, of Certificates.
  SecurityOptions files = {};
  // What all tasks know, of Secret.
  std::string secret = {};
  // Who this task is: as its certificate says, or with a secret as it was told; the cluster is empty then.
  TaskIdentity own = {};
};

// Of the options, or of the environment where they say nothing; nullptr where that does neither. Throws where files
// cannot be read, do not belong together, or say more than one kind.
//   task: "worker:1", who this task is.
std::shared_ptr<const Security> make_security(const SecurityOptions& options, std::string_view task);

// Throws unless an address is one of this machine alone, or something is said about security.
//   what: "a server listens", "a task is called", for the error.
void check_may_use(std::string_view address, const Security* security, std::string_view who, std::string_view what);

}  // namespace cohort::distribute
