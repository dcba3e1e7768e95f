#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/certificates.h"
#include "cohort/distribute/cluster/security.h"
#include "tests/support/paths.h"

namespace cohort::test {

// The files of a small authority and of tasks that it has signed for.
class ClusterCertificates {
 public:
  explicit ClusterCertificates(std::string cluster = "training")
      : cluster_(std::move(cluster)), authority_(distribute::make_authority(cluster_, 1)) {
    write("ca.pem", authority_.certificate);
  }
  // Options of "worker:1", whose certificate is made.
  //   days: how long it holds; negative: it has ended.
  distribute::SecurityOptions options_of(const std::string& task, int days = 1) const {
    const auto made =
        distribute::make_task_certificate(authority_, *distribute::identity_of_task(cluster_, task), {}, days);
    const std::string name = task.substr(0, task.find(':')) + "-" + task.substr(task.find(':') + 1);
    return {.ca_certificate = folder_.file("ca.pem"),
            .certificate = write(name + ".pem", made.certificate),
            .private_key = write(name + ".key", made.key)};
  }
  // What a task of that name proves with.
  std::shared_ptr<const distribute::Security> of(const std::string& task) const {
    return distribute::make_security(options_of(task), task);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  const distribute::KeyedCertificate& authority() const { return authority_; }

 private:
  const std::string cluster_;
  const distribute::KeyedCertificate authority_;
  const TemporaryFolder folder_;
};

}  // namespace cohort::test
