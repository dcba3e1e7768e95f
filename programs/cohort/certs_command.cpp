#include "programs/cohort/certs_command.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/certificates.h"
#include "cohort/files/atomic_file.h"

namespace cohort::programs {
namespace {

struct CertsArguments {
  std::string folder;
  std::string cluster = "cohort";
  std::vector<std::string> jobs;
  std::vector<std::string> hosts;
  int days = 365;
};

// Readable by its owner alone from its first byte on.
void write_key(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path.string());
  std::filesystem::permissions(file.temporary(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  file.append(text);
  file.commit();
}

void write(const std::filesystem::path& folder, const std::string& name, const distribute::KeyedCertificate& made) {
  AtomicFile file((folder / (name + ".pem")).string());
  file.append(made.certificate);
  write_key(folder / (name + ".key"), made.key);
  file.commit();
}

// The one that is there, so that tasks can be added later.
distribute::KeyedCertificate authority_in(const std::filesystem::path& folder, const CertsArguments& arguments) {
  if (std::filesystem::exists(folder / "ca.pem"))
    return {read_file((folder / "ca.pem").string()), read_file((folder / "ca.key").string())};
  distribute::KeyedCertificate made = distribute::make_authority(arguments.cluster, arguments.days);
  write(folder, "ca", made);
  return made;
}

// "worker=4"
std::pair<std::string, std::int64_t> parse_job(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::int64_t tasks = 1;
  bool fits = equals == std::string::npos;
  if (!fits) {
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data() + equals + 1, end, tasks);
    fits = problem == std::errc() && rest == end && tasks >= 1 && tasks <= 100'000;
  }
  const std::string job = text.substr(0, equals);
  if (!fits || !distribute::identity_of_task("", job + ":0")) {
    throw invalid_argument("cohort certs make", "jobs are expected as JOB or JOB=TASKS", {{"job", text}},
                           "Say --job worker=4.");
  }
  return {job, tasks};
}

void make(const CertsArguments& arguments) {
  const std::filesystem::path folder(arguments.folder);
  if (!distribute::parse_identity("cohort://" + arguments.cluster + "/chief/0")) {
    throw invalid_argument("cohort certs make", "a name of letters, digits, '.', '-' and '_' is expected",
                           {{"cluster", arguments.cluster}});
  }
  std::vector<std::pair<std::string, std::int64_t>> jobs;
  for (const std::string& job : arguments.jobs) jobs.push_back(parse_job(job));
  const distribute::KeyedCertificate authority = authority_in(folder, arguments);
  for (const auto& [job, tasks] : jobs) {
    for (std::int64_t index = 0; index < tasks; ++index) {
      const std::string name = job + "-" + std::to_string(index);
      write(folder, name,
            distribute::make_task_certificate(authority, {arguments.cluster, job, index}, arguments.hosts,
                                              arguments.days));
      std::cout << (folder / (name + ".pem")).string() << "\n";
    }
  }
  std::cout << "Give each task ca.pem, its own .pem and its own .key; keep ca.key where no task runs." << std::endl;
}

}  // namespace

void add_certs_command(CLI::App& app) {
  CLI::App* certs = app.add_subcommand("certs", "Certificates by which the tasks of a cluster know each other");
  certs->require_subcommand(1);
  CLI::App* command =
      certs->add_subcommand("make", "Makes an authority, unless the folder has one, and a certificate for each task");
  const auto arguments = std::make_shared<CertsArguments>();
  command->add_option("folder", arguments->folder, "where the files go")->required();
  command->add_option("--cluster", arguments->cluster, "the cluster's name, the same for all its tasks")
      ->capture_default_str();
  command->add_option("--job", arguments->jobs, "a job and how many tasks it has; several may be given")
      ->type_name("JOB=TASKS")
      ->required();
  command
      ->add_option("--host", arguments->hosts, "names or addresses to write into each certificate, for other programs")
      ->type_name("HOST");
  command->add_option("--days", arguments->days, "how long they hold")
      ->check(CLI::Range(1, 36500))
      ->capture_default_str();
  command->callback([arguments] { make(*arguments); });
}

}  // namespace cohort::programs
