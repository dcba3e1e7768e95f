#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/distribute/cluster/task_identity.h"

namespace cohort::distribute {

// A certificate and its private key, in PEM's form.
struct KeyedCertificate {
  std::string certificate;
  std::string key;
};

// An authority that signs the certificates of a cluster's tasks.
KeyedCertificate make_authority(std::string_view cluster, int days);
// A certificate of one task, for both sides of a connection.
//   hosts: names and addresses by which others reach it, besides what its identity says.
//   begins: in how many days it begins to hold.
KeyedCertificate make_task_certificate(const KeyedCertificate& authority, const TaskIdentity& task,
                                       const std::vector<std::string>& hosts, int days, int begins = 0);
// One that nobody has signed, which is known by its fingerprint alone.
KeyedCertificate make_own_certificate(int days);

// Who a certificate is made for. Throws where it is no task's, is not signed by the authority, does not fit its key, or
// does not hold today.
TaskIdentity identity_of_certificate(const KeyedCertificate& certificate, const std::string& authority,
                                     std::string_view who);
// SHA-256 of the first certificate of a text, 32 bytes. Throws where there is none.
std::string fingerprint_of(std::string_view certificate);

// HMAC with SHA-256, 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);
// Whether two texts are equal, in a time that does not tell where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);
// Bytes that nobody can guess.
std::string random_bytes(std::size_t count);

}  // namespace cohort::distribute
