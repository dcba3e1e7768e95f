#pragma once

#include <string>

namespace cohort::distribute {

// How the tasks of a cluster prove to each other who they are. Addresses of this machine alone (loopback) need nothing;
// beyond them one of three is to be said: certificates, a secret, or that nothing is wanted. Where no field is set, the
// environment says it for all tasks of this process: COHORT_CA_CERTIFICATE, COHORT_CERTIFICATE, COHORT_PRIVATE_KEY,
// COHORT_SECRET_FILE and COHORT_INSECURE=1.
struct SecurityOptions {
  // Files in PEM's form, read again when they change; `cohort certs make` makes all three. Of the authority that has
  // signed every task's certificate.
  std::string ca_certificate = {};
  // Of this task: its alternative names have cohort://CLUSTER/JOB/INDEX.
  std::string certificate = {};
  // Of the certificate.
  std::string private_key = {};
  // A file with a secret of 32 bytes or more that all tasks have, in the place of certificates: both sides prove that
  // they have it, and all that is sent is encrypted. Whoever has it may be any task.
  std::string secret_file = {};
  // Neither: whoever reaches the address may read, write and compute everything.
  bool insecure = false;
};

}  // namespace cohort::distribute
