#pragma once

namespace CLI {
class App;
}

namespace cohort::programs {

// `cohort bench ...`: the program cohort-bench, which stands beside this one.
void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace cohort::programs
