#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// Adds `cohort certs`: makes an authority for a cluster and a certificate for each of its tasks.
void add_certs_command(CLI::App& app);

}  // namespace cohort::programs
