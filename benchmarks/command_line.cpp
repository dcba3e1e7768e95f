#include "benchmarks/command_line.h"

#include <CLI/CLI.hpp>

namespace cohort::bench {
namespace {

template <class T>
void add_number(CLI::App& app, const std::string& names, T& value, const std::string& help, Limits limits) {
  CLI::Option* option = app.add_option(names, value, help);
  const Limits any;
  if (limits.lowest != any.lowest || limits.highest != any.highest)
    option->check(CLI::Range(limits.lowest, limits.highest));
}

}  // namespace

CommandLine::CommandLine(const std::string& description) : app_(std::make_unique<CLI::App>(description)) {}

CommandLine::~CommandLine() = default;

void CommandLine::add(const std::string& names, int& value, const std::string& help, Limits limits) {
  add_number(*app_, names, value, help, limits);
}

void CommandLine::add(const std::string& names, std::int64_t& value, const std::string& help, Limits limits) {
  add_number(*app_, names, value, help, limits);
}

void CommandLine::add(const std::string& names, double& value, const std::string& help, Limits limits) {
  add_number(*app_, names, value, help, limits);
}

void CommandLine::add(const std::string& names, std::string& value, const std::string& help) {
  app_->add_option(names, value, help);
}

void CommandLine::add(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}

void CommandLine::add(const std::string& names, std::int64_t& value, std::int64_t when_given, const std::string& help) {
  app_->add_flag(names + "{" + std::to_string(when_given) + "}", value, help);
}

void CommandLine::add_choice(const std::string& names, std::string& value, const std::string& help,
                             const std::vector<std::string>& choices) {
  app_->add_option(names, value, help)->check(CLI::IsMember(choices));
}

void CommandLine::add_required_choice(const std::string& names, std::string& value, const std::string& help,
                                      const std::vector<std::string>& choices) {
  app_->add_option(names, value, help)->required()->check(CLI::IsMember(choices));
}

void CommandLine::add_folder(const std::string& names, std::string& value, const std::string& help) {
  app_->add_option(names, value, help)->check(CLI::ExistingDirectory);
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
}

}  // namespace cohort::bench
