// A chief that is killed at any moment: started again, alone or with its whole cluster, it goes on from its backup, and
// every element counts once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "cohort/distribute/cluster/tf_config.h"
#include "tests/faults/joining_workers.h"
#include "tests/faults/random_kills.h"
#include "tests/faults/shared_report.h"
#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

constexpr const char *kChiefSetting = "COHORT_TEST_SETTING", *kTakesOver = "COHORT_TEST_TAKES_OVER",
                     *kMayJoin = "COHORT_TEST_MAY_JOIN";
constexpr int kChiefEpochs = 3;

enum class ChiefPhase : int { Starting, Training, BetweenEpochs, Ending };
const char* to_string(ChiefPhase phase) {
  constexpr const char* kNames[] = {"starting", "training", "between epochs", "ending"};
  return kNames[static_cast<int>(phase)];
}

struct ChiefReport {
  std::atomic<ChiefPhase> phase{ChiefPhase::Starting};
  std::atomic<std::int64_t> resumed_at{-1};  // elements that count already; -1 while that is not known
  std::atomic<pid_t> process{-1};
  std::atomic<bool> may_end{false};
};

struct ChiefSetting {
  callbacks::BackupAndRestoreOptions backup = {};
  bool pipeline_for_each_worker = false;
  std::int64_t elements = 400;
  bool waits = false;  // in the middle of its training, until it is told to go on
};

const std::vector<ChiefSetting>& chief_settings() {
  static const std::vector<ChiefSetting> all = {
      {.backup = {.save_freq = 25}},
      {.backup = {}, .pipeline_for_each_worker = true},
      {.backup = {.save_freq = 40, .double_checkpoint = true}, .pipeline_for_each_worker = true},
      {.waits = true},
      {.backup = {.save_freq = 200}, .elements = 4000},
      {.backup = {.save_freq = 150}, .pipeline_for_each_worker = true, .elements = 4000}};
  return all;
}
constexpr std::size_t kKilledSettings = 3, kWaitingSetting = 3, kFirstJoinedSetting = 4, kJoinedSettings = 2;

class LastChiefMarker : public Callback {
 public:
  explicit LastChiefMarker(ChiefReport& report) : report_(report) {}
  void on_train_begin() override {
    report_.resumed_at = read_now(model().optimizer()->iterations()).item<std::int64_t>();
    report_.phase = ChiefPhase::Training;
  }
  void on_epoch_begin(std::int64_t) override { report_.phase = ChiefPhase::Training; }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  bool needs_built_model() const override { return true; }

 private:
  ChiefReport& report_;
};

class FirstChiefMarker : public Callback {
 public:
  FirstChiefMarker(ChiefReport& report, bool waits) : report_(report), waits_(waits) {}
  void on_epoch_end(std::int64_t, Logs&) override {
    report_.phase = ChiefPhase::BetweenEpochs;
    if (waits_) becomes_true([&] { return report_.may_end.load(); });
  }
  // Before the backup is taken away.
  void on_train_end(Logs&) override { report_.phase = ChiefPhase::Ending; }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

 private:
  ChiefReport& report_;
  const bool waits_;
};

void lead_sums(const distribute::ClusterResolver& resolver, const ChiefSetting& setting) {
  const SharedReport<ChiefReport> report("report");
  report->process = ::getpid();
  distribute::ParameterServerStrategyOptions placed = kOnBothServers;
  placed.take_over = std::getenv(kTakesOver) != nullptr;
  placed.workers_may_join = std::getenv(kMayJoin) != nullptr;
  distribute::ParameterServerStrategy strategy(resolver, placed);
  auto scope = strategy.scope();
  SummingModel model;
  const Dataset shuffled = numbers(setting.elements).shuffle(50);
  const DatasetCreator sharded([&](const InputContext& context) {
    return numbers(setting.elements).shard(context.num_input_pipelines, context.input_pipeline_id).shuffle(50);
  });
  const FitOptions options{
      .epochs = kChiefEpochs,
      .verbose = 0,
      .callbacks = {make<FirstChiefMarker>(*report, setting.waits),
                    callbacks::ModelCheckpoint("files/{epoch:02d}.keras"), callbacks::TensorBoard({.log_dir = "logs"}),
                    callbacks::BackupAndRestore("backup", setting.backup), make<LastChiefMarker>(*report)}};
  if (setting.pipeline_for_each_worker) {
    model.fit(sharded, options);
  } else {
    model.fit(shuffled, options);
  }
  std::ofstream("result") << sums_of(model);
}

// The program: this test's own binary, started as one task of the cluster that TF_CONFIG names.
TEST(KilledChief, DISABLED_Task) {
  const distribute::TFConfigClusterResolver resolver;
  if (resolver.task_type() == "worker" || resolver.task_type() == "ps") {
    EXPECT_EQ(distribute::Server(resolver).join(), 0);
    return;
  }
  lead_sums(resolver, chief_settings().at(static_cast<std::size_t>(std::atoi(std::getenv(kChiefSetting)))));
}

const std::vector<std::string> kTaskArguments = {"--gtest_filter=KilledChief.DISABLED_Task",
                                                 "--gtest_also_run_disabled_tests", "--gtest_brief=1"};

// One job, whose chief is killed and started again until it ends.
class ChiefsJob {
 public:
  explicit ChiefsJob(std::size_t setting)
      : setting_(setting), elements_(chief_settings().at(setting).elements), report_(folder_.file("report")) {}

  // A chief of a cluster that is there; `says` is set in its environment.
  std::unique_ptr<StartedProgram> start_chief(const distribute::ClusterSpec& spec, const char* says = nullptr) {
    // Nobody dials a chief.
    const std::string cluster = R"({"chief": ["127.0.0.1:1"], )" + spec.as_text().substr(1);
    std::vector<std::pair<std::string, std::string>> environment = {
        {"TF_CONFIG", R"({"cluster": )" + cluster + R"(, "task": {"type": "chief", "index": 0}})"}};
    if (says) environment.emplace_back(says, "1");
    return start("tests/faults_test", kTaskArguments, environment);
  }
  // A chief with a cluster of its own.
  std::unique_ptr<StartedProgram> launch() {
    std::vector<std::string> arguments = {
        "launch", "--workers", "2", "--ps", "2", "--", program_path("tests/faults_test")};
    arguments.insert(arguments.end(), kTaskArguments.begin(), kTaskArguments.end());
    return start("cohort", arguments, {});
  }
  ChiefReport& report() { return *report_; }
  std::string file(const std::string& name) const { return folder_.file(name); }

  // Who was cut off must go on where its backup stands, never before.
  void check_progress() {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".keras") check_checkpoint(entry.path());
    }
    if (report_->resumed_at < 0) return;
    EXPECT_GE(report_->resumed_at, resumed_at_);
    // Who has done everything has no backup any more.
    resumed_at_ = report_->phase == ChiefPhase::Ending ? 0 : report_->resumed_at.load();
  }
  void check_end() {
    check_progress();
    std::stringstream expected;
    expected << expected_sums(elements_, kChiefEpochs);
    EXPECT_EQ(content_of(file("result")), expected.str());
    for (int epoch = 1; epoch <= kChiefEpochs; ++epoch) {
      EXPECT_TRUE(fs::exists(file("files/0" + std::to_string(epoch) + ".keras"))) << epoch;
    }
    EXPECT_TRUE(fs::exists(file("logs/train")));
    EXPECT_FALSE(fs::exists(file("backup")));
  }

 private:
  std::unique_ptr<StartedProgram> start(const std::string& program, const std::vector<std::string>& arguments,
                                        std::vector<std::pair<std::string, std::string>> environment) {
    report_.reset();
    environment.emplace_back(kChiefSetting, std::to_string(setting_));
    return std::make_unique<StartedProgram>(
        program, StartedProgramOptions{.arguments = arguments, .environment = environment}, folder_.path());
  }
  void check_checkpoint(const fs::path& path) const {
    const Ref<Model> model = load_model(path.string(), {.compile = false});
    const std::int64_t expected = expected_sums(elements_, std::stoi(path.filename().string())).weights[0];
    for (const Tensor& weight : model->get_weights()) {
      EXPECT_THAT(weight.to_vector<float>(), testing::Each(static_cast<float>(expected))) << path;
    }
  }

  const std::size_t setting_;
  const std::int64_t elements_;
  const TemporaryFolder folder_;
  SharedReport<ChiefReport> report_;
  std::int64_t resumed_at_ = 0;
};

constexpr int kKillsOfAJob = 4;

void restart_ended_tasks(ProcessCluster& cluster) {
  std::this_thread::sleep_for(100ms);
  for (int i = 0; i < cluster.num_servers(); ++i) cluster.server(i).start_if_ended();
  for (int i = 0; i < cluster.num_workers(); ++i) cluster.worker(i).start_if_ended();
}

TEST(KilledChief, GoesOnWithTheTasksThatLiveOn) {
  const int kills = kills_wanted(10);
  const Deadline deadline(std::chrono::seconds(60 + 5 * kills));
  std::mt19937 random(std::random_device{}());
  KillCount<ChiefPhase> killed;
  for (std::size_t jobs = 0; killed.total() < kills && !testing::Test::HasFailure(); ++jobs) {
    SCOPED_TRACE("job " + std::to_string(jobs));
    ProcessCluster cluster(2, 2);
    ChiefsJob job(jobs % kKilledSettings);
    auto chief = job.start_chief(cluster.spec());
    for (int time = 0; time < kKillsOfAJob && killed.total() < kills; ++time) {
      if (!outlives(*chief, std::chrono::microseconds(random() % 900'000))) break;
      chief->signal(SIGKILL);
      if (chief->wait() == 0) break;  // it has ended in the last moment
      killed.add(job.report().phase);
      job.check_progress();
      // At its very end it tells its tasks one by one to end too.
      if (job.report().phase == ChiefPhase::Ending) restart_ended_tasks(cluster);
      chief = job.start_chief(cluster.spec());
    }
    ASSERT_EQ(chief->wait(60s), 0) << chief->output() << chief->errors();
    job.check_end();
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(cluster.server(i).ends_well(5)) << cluster.server(i).output();
      EXPECT_TRUE(cluster.worker(i).ends_well(5)) << cluster.worker(i).output();
    }
  }
  killed.print();
}

// One comes, one leaves, or one dies and comes back elsewhere.
void change_one(JoiningWorkers& workers, std::mt19937& random) {
  constexpr std::size_t kMost = 3;
  const std::size_t place = random() % workers.size();
  const auto choice = random() % 3;
  if (workers.size() == 1 || (choice == 0 && workers.size() < kMost)) return workers.add_numbered();
  choice == 1 ? workers.remove(place) : workers.kill_and_restart(place);
}

// Nobody has listed them: the next chief finds in the book who is there, at addresses that the one before it has, or
// has not, known; and whose process is gone.
TEST(KilledChief, GoesOnWithWorkersThatHaveJoined) {
  const int kills = kills_wanted(6);
  const Deadline deadline(std::chrono::seconds(60 + 10 * kills));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  KillCount<ChiefPhase> killed;
  for (std::size_t jobs = 0; killed.total() < kills && !testing::Test::HasFailure(); ++jobs) {
    SCOPED_TRACE("job " + std::to_string(jobs));
    ProcessCluster cluster(0, 2);
    JoiningWorkers workers(cluster.spec());
    workers.add_numbered();
    ChiefsJob job(kFirstJoinedSetting + jobs % kJoinedSettings);
    auto chief = job.start_chief(cluster.spec(), kMayJoin);
    for (int time = 0; time < kKillsOfAJob && killed.total() < kills; ++time) {
      // It leads while somebody comes that it did not begin with.
      if (time == 0) {
        ASSERT_TRUE(becomes_true([&] { return job.report().phase == ChiefPhase::Training; }, 30s)) << chief->errors();
        workers.add_numbered();
      } else if (random() % 2 == 0) {
        change_one(workers, random);
      }
      if (!outlives(*chief, std::chrono::microseconds(random() % 700'000))) break;
      chief->signal(SIGKILL);
      if (chief->wait() == 0) break;  // it has ended in the last moment
      killed.add(job.report().phase);
      job.check_progress();
      if (job.report().phase == ChiefPhase::Ending) {
        restart_ended_tasks(cluster);
        for (std::size_t i = 0; i < workers.size(); ++i) workers.at(i).start_if_ended();
      }
      // And nobody leads.
      if (random() % 2 == 0) change_one(workers, random);
      chief = job.start_chief(cluster.spec(), kMayJoin);
    }
    ASSERT_EQ(chief->wait(60s), 0) << chief->output() << chief->errors();
    job.check_end();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(cluster.server(i).ends_well(5)) << cluster.server(i).output();
    while (workers.size() > 0) workers.remove(0);  // one that came too late has heard of no chief
  }
  killed.print();
}

TEST(KilledChief, GoesOnWithANewCluster) {
  const int kills = kills_wanted(10);
  const Deadline deadline(std::chrono::seconds(60 + 5 * kills));
  std::mt19937 random(std::random_device{}());
  KillCount<ChiefPhase> killed;
  for (std::size_t jobs = 0; killed.total() < kills && !testing::Test::HasFailure(); ++jobs) {
    SCOPED_TRACE("job " + std::to_string(jobs));
    ChiefsJob job(jobs % kKilledSettings);
    auto launched = job.launch();
    for (int time = 0; time < kKillsOfAJob && killed.total() < kills; ++time) {
      if (!outlives(*launched, std::chrono::microseconds(random() % 1'500'000))) break;
      const pid_t chief = job.report().process;
      const ChiefPhase phase = job.report().phase;
      if (chief < 0 || random() % 2 == 0) {
        launched->signal(SIGKILL);  // and with it all of the cluster
      } else {
        ::kill(chief, SIGKILL);
      }
      if (launched->wait() == 0) break;  // it has ended in the last moment
      ASSERT_TRUE(becomes_true([chief] { return chief < 0 || is_gone(chief); }));
      killed.add(phase);
      job.check_progress();
      launched = job.launch();
    }
    ASSERT_EQ(launched->wait(60s), 0) << launched->output() << launched->errors();
    job.check_end();
  }
  killed.print();
}

// A program that was started by mistake.
TEST(SecondChief, IsRefusedWhileTheFirstOneLives) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  ChiefsJob job(kWaitingSetting);
  auto chief = job.start_chief(cluster.spec());
  ASSERT_TRUE(becomes_true([&] { return job.report().phase == ChiefPhase::BetweenEpochs; }));
  const std::string refused = error_of(
      [&] { distribute::ParameterServerStrategy(distribute::SimpleClusterResolver(cluster.spec()), kOnBothServers); });
  job.report().may_end = true;
  EXPECT_THAT(refused, AllOf(StartsWith("FailedPrecondition ps:0"), HasSubstr("take_over")));
  EXPECT_EQ(chief->wait(60s), 0) << chief->output() << chief->errors();
  job.check_end();
}

// Both know the same file: the first one is as good as gone.
TEST(SecondChief, TakesOverWithTheJobsKey) {
  const Deadline deadline(60s);
  const TemporaryFolder folder;
  ProcessCluster cluster(1, 1);
  distribute::ParameterServerStrategyOptions options;
  options.job_key_file = folder.file("backup/key");
  const distribute::SimpleClusterResolver resolver(cluster.spec());
  const distribute::ParameterServerStrategy first(resolver, options), second(resolver, options);
  EXPECT_EQ(fit_sums(second, 20).iterations, 20);
  EXPECT_THAT(error_of([&] { fit_sums(first, 20); }), HasSubstr("Another chief has taken over this task."));
  options.job_key_file = folder.file("other/key");
  EXPECT_THAT(error_of([&] { distribute::ParameterServerStrategy(resolver, options); }),
              StartsWith("FailedPrecondition"));
}

// A chief that was taken for dead, and is not.
TEST(ReplacedChief, IsRefusedWhenItWakesUp) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  ChiefsJob job(kWaitingSetting), other(kWaitingSetting);
  auto old_chief = job.start_chief(cluster.spec());
  ASSERT_TRUE(becomes_true([&] { return job.report().phase == ChiefPhase::BetweenEpochs; }));
  old_chief->signal(SIGSTOP);
  job.report().may_end = true;
  auto new_chief = other.start_chief(cluster.spec(), kTakesOver);
  ASSERT_TRUE(becomes_true([&] { return other.report().phase == ChiefPhase::BetweenEpochs; }));
  old_chief->signal(SIGCONT);
  EXPECT_EQ(old_chief->wait(10s), 1);
  other.report().may_end = true;
  EXPECT_THAT(old_chief->output() + old_chief->errors(), HasSubstr("Another chief has taken over this task."));
  EXPECT_EQ(new_chief->wait(60s), 0) << new_chief->output() << new_chief->errors();
  other.check_end();
}

}  // namespace
}  // namespace cohort::test
