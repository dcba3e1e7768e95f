#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort server --job worker --task 0`: one task of anybody's cluster, until its job ends.
void add_server_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
