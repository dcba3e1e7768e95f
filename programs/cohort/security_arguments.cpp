#include "programs/cohort/security_arguments.h"

namespace cohort::programs {

void add_security_options(CLI::App& command, distribute::SecurityOptions& options) {
  constexpr const char* kGroup = "Security, beyond loopback addresses";
  const auto add_file = [&](const char* name, std::string& path, const char* about) {
    command.add_option(name, path, about)->type_name("FILE")->check(CLI::ExistingFile)->group(kGroup);
  };
  add_file("--ca-certificate", options.ca_certificate, "of the authority that has signed all tasks' certificates");
  add_file("--certificate", options.certificate, "of this task");
  add_file("--private-key", options.private_key, "of the certificate");
  add_file("--secret-file", options.secret_file, "a secret that all tasks have, in the place of certificates");
  command.add_flag("--insecure", options.insecure, "neither: whoever reaches the address may do everything")
      ->group(kGroup);
}

}  // namespace cohort::programs
