#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
using test::becomes_true;
using test::StartedCommand;
using testing::ElementsAre;
using testing::HasSubstr;

// Tasks are shell scripts that leave a file `<task>.id` with their process number once they run.
class Launch : public testing::Test {
 protected:
  // `script` sees $task ("worker:1") and $folder.
  std::unique_ptr<StartedCommand> launch(std::vector<std::string> options, const std::string& script) {
    const std::string begin = R"(type=${TF_CONFIG##*\"type\":\"}; index=${TF_CONFIG##*\"index\":}
        task=${type%%\"*}:${index%%[!0-9]*}; folder=)" +
                              folder_.path().string() + "\n" + "echo $$ > $folder/$task.new\n" +
                              "mv $folder/$task.new $folder/$task.id\n";
    options.insert(options.begin(), "launch");
    options.insert(options.end(), {"--", "sh", "-c", begin + script});
    return std::make_unique<StartedCommand>(options, folder_.path());
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(folder_.path() / file); }
  std::string content(const std::string& file) const { return test::content_of(folder_.path() / file); }
  pid_t id_of(const std::string& task) const {
    const std::string text = content(task + ".id");
    return text.empty() ? -1 : std::stoi(text);
  }
  bool all_run(const std::vector<std::string>& tasks) const {
    return becomes_true([&] {
      return std::all_of(tasks.begin(), tasks.end(), [this](const std::string& task) { return exists(task + ".id"); });
    });
  }
  void expect_gone(const std::vector<std::string>& tasks, std::chrono::seconds longest = 0s) const {
    for (const std::string& task : tasks) {
      ASSERT_GT(id_of(task), 0) << task << " never ran";
      EXPECT_TRUE(becomes_true([&] { return test::is_gone(id_of(task)); }, longest)) << task << " is left behind";
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(Launch, ReturnsTheChiefsExitCodeAndEndsTheOthers) {
  const auto begin = std::chrono::steady_clock::now();
  const auto command = launch({"--workers", "2", "--ps", "1", "--evaluator"}, R"(
    [ $task = chief:0 ] || exec sleep 1000
    for other in worker:0 worker:1 ps:0 evaluator:0; do until [ -e $folder/$other.id ]; do sleep 0.02; done; done
    exit 7)");
  EXPECT_EQ(command->wait(), 7);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
  expect_gone({"chief:0", "worker:0", "worker:1", "ps:0", "evaluator:0"});
}

TEST_F(Launch, PrefixesEveryLineWithItsTask) {
  const auto command = launch({"--workers", "2", "--ps", "1"}, R"(
    echo "one $task"; printf 'two\nno end'; echo oops >&2; touch $folder/$task.said
    [ $task = chief:0 ] || exec sleep 1000
    for other in worker:0 worker:1 ps:0; do until [ -e $folder/$other.said ]; do sleep 0.02; done; done)");
  EXPECT_EQ(command->wait(), 0);
  EXPECT_THAT(test::sorted_lines(command->output()),
              ElementsAre("chief:0 | no end", "chief:0 | one chief:0", "chief:0 | two", "ps:0 | no end",
                          "ps:0 | one ps:0", "ps:0 | two", "worker:0 | no end", "worker:0 | one worker:0",
                          "worker:0 | two", "worker:1 | no end", "worker:1 | one worker:1", "worker:1 | two"));
  EXPECT_THAT(test::sorted_lines(command->errors()),
              ElementsAre("chief:0 | oops", "ps:0 | oops", "worker:0 | oops", "worker:1 | oops"));
}

TEST_F(Launch, TellsEveryTaskTheSameCluster) {
  const auto command = launch({"--workers", "2", "--ps", "2", "--evaluator"}, R"(
    printf '%s' "$TF_CONFIG" > $folder/$task.config; touch $folder/$task.said
    [ $task = chief:0 ] || exec sleep 1000
    for other in worker:0 worker:1 ps:0 ps:1 evaluator:0; do until [ -e $folder/$other.said ]; do sleep 0.02; done; done)");
  ASSERT_EQ(command->wait(), 0);
  const distribute::ClusterSpec cluster = distribute::parse_tf_config(content("chief:0.config")).cluster;
  distribute::check_parameter_server_cluster(cluster);
  EXPECT_EQ(cluster.num_tasks("worker"), 2);
  EXPECT_EQ(cluster.num_tasks("ps"), 2);
  EXPECT_EQ(cluster.num_tasks(), 6);
  for (const std::string& job : cluster.jobs()) {
    for (const std::int64_t index : cluster.task_indices(job)) {
      EXPECT_THAT(cluster.task_address(job, index), HasSubstr("127.0.0.1:"));
      const distribute::TFConfig config =
          distribute::parse_tf_config(content(distribute::task_name(job, index) + ".config"));
      EXPECT_EQ(config.cluster, cluster);
      EXPECT_EQ(config.task_type, job);
      EXPECT_EQ(config.task_id, index);
    }
  }
}

TEST_F(Launch, NotesForTheChiefHowOthersEnded) {
  const auto command = launch({"--workers", "2", "--ps", "1"}, R"(
    case $task in
      worker:0) kill -9 $$ ;;
      worker:1) exit 3 ;;
      ps:0) exec sleep 1000 ;;
    esac
    until [ $(wc -l < $COHORT_TASK_EXITS) = 2 ]; do sleep 0.02; done
    cp $COHORT_TASK_EXITS $folder/exits; echo $COHORT_TASK_EXITS > $folder/file)");
  EXPECT_EQ(command->wait(), 0);
  EXPECT_THAT(test::sorted_lines(content("exits")), ElementsAre("worker:0 137", "worker:1 3"));
  std::string file = content("file");
  file.pop_back();
  EXPECT_FALSE(std::filesystem::exists(file)) << file;
}

TEST_F(Launch, NamesTheJobToEveryTask) {
  const auto command = launch({"--workers", "1", "--ps", "1", "--job-name", "night run"}, R"(
    printf '%s' "$COHORT_JOB_NAME" > $folder/$task.job; touch $folder/$task.said
    [ $task = chief:0 ] || exec sleep 1000
    for other in worker:0 ps:0; do until [ -e $folder/$other.said ]; do sleep 0.02; done; done)");
  EXPECT_EQ(command->wait(), 0);
  for (const char* task : {"worker:0", "ps:0", "chief:0"}) EXPECT_EQ(content(std::string(task) + ".job"), "night run");
}

TEST_F(Launch, WithoutParameterServersTheFirstWorkerLeads) {
  const auto command = launch({"--workers", "2"}, R"(
    [ $task = worker:0 ] || exec sleep 1000
    until [ -e $folder/worker:1.id ]; do sleep 0.02; done; exit 5)");
  EXPECT_EQ(command->wait(), 5);
  expect_gone({"worker:0", "worker:1"});
}

TEST_F(Launch, ASignalReachesTheChiefWhileTheOthersStillServe) {
  for (const int number : {SIGINT, SIGTERM}) {
    const auto command = launch({"--workers", "1", "--ps", "1"}, R"(
      if [ $task = chief:0 ]; then
        trap 'kill -0 $(cat $folder/worker:0.id) && kill -0 $(cat $folder/ps:0.id) && exit 3; exit 4' INT TERM
      else
        trap 'touch $folder/$task.asked; exit 0' TERM
      fi
      touch $folder/$task.ready
      while :; do sleep 0.05; done)");
    ASSERT_TRUE(
        becomes_true([&] { return exists("chief:0.ready") && exists("worker:0.ready") && exists("ps:0.ready"); }));
    command->signal(number);
    EXPECT_EQ(command->wait(), 3);
    EXPECT_TRUE(exists("worker:0.asked") && exists("ps:0.asked"));
    expect_gone({"chief:0", "worker:0", "ps:0"});
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry);
  }
}

TEST_F(Launch, ASecondSignalReachesAll) {
  const auto command = launch({"--workers", "1", "--ps", "1"}, R"(
    count=0
    trap 'count=$((count + 1)); echo $count > $folder/$task.count' INT
    trap 'exit 0' TERM
    touch $folder/$task.ready
    until [ $task = chief:0 ] && [ $count = 2 ] && [ -e $folder/worker:0.count ]; do sleep 0.05; done
    exit 6)");
  ASSERT_TRUE(
      becomes_true([&] { return exists("chief:0.ready") && exists("worker:0.ready") && exists("ps:0.ready"); }));
  command->signal(SIGINT);
  ASSERT_TRUE(becomes_true([&] { return content("chief:0.count") == "1\n"; }));
  EXPECT_FALSE(exists("worker:0.count"));
  command->signal(SIGINT);
  EXPECT_EQ(command->wait(), 6);
  EXPECT_EQ(content("worker:0.count"), "1\n");
}

TEST_F(Launch, KillsWhoDoesNotEndWhenAsked) {
  const auto command = launch({"--workers", "1", "--ps", "1"}, R"(
    if [ $task = worker:0 ]; then trap '' TERM; touch $folder/deaf; while :; do sleep 0.1; done; fi
    [ $task = chief:0 ] || exec sleep 1000
    until [ -e $folder/deaf ]; do sleep 0.02; done)");
  ASSERT_TRUE(becomes_true([&] { return exists("deaf"); }));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(command->wait(), 0);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 4s);
  EXPECT_THAT(command->errors(), HasSubstr("cohort launch: worker:0 did not end within 5 s"));
  expect_gone({"chief:0", "worker:0", "ps:0"});
}

TEST_F(Launch, NobodyOutlivesALauncherThatIsKilled) {
  const auto command = launch({"--workers", "2", "--ps", "1"}, "exec sleep 1000");
  const std::vector<std::string> tasks = {"chief:0", "worker:0", "worker:1", "ps:0"};
  ASSERT_TRUE(all_run(tasks));
  command->signal(SIGKILL);
  EXPECT_EQ(command->wait(), 128 + SIGKILL);
  expect_gone(tasks, 5s);
}

TEST_F(Launch, WhatATaskLeavesBehindEndsToo) {
  const auto command = launch({"--workers", "1", "--ps", "1"}, R"(
    [ $task = chief:0 ] || exec sleep 1000
    sleep 1000 & echo $! > $folder/background.id)");
  EXPECT_EQ(command->wait(), 0);
  expect_gone({"chief:0"});
  // Killed, but not our launcher's child: nobody can wait until the system has taken it away.
  expect_gone({"background"}, 5s);
}

TEST_F(Launch, SaysWhoFailedAndHow) {
  const auto command = launch({"--workers", "1", "--ps", "1"}, R"(
    [ $task = worker:0 ] && exit 9
    [ $task = chief:0 ] || exec sleep 1000
    sleep 0.5; kill -KILL $$)");
  EXPECT_EQ(command->wait(), 128 + SIGKILL);
  EXPECT_EQ(command->errors(), "cohort launch: worker:0 ended with exit code 9\n");
}

TEST_F(Launch, StartsFailedWorkersAgainWhenAsked) {
  const auto command = launch({"--workers", "1", "--ps", "1", "--restart-workers"}, R"(
    if [ $task = worker:0 ]; then echo start >> $folder/starts; [ $(wc -l < $folder/starts) -ge 2 ] || exit 9; fi
    [ $task = chief:0 ] || exec sleep 1000
    until [ -e $folder/starts ] && [ $(wc -l < $folder/starts) -ge 2 ]; do sleep 0.02; done)");
  EXPECT_EQ(command->wait(), 0);
  EXPECT_EQ(content("starts"), "start\nstart\n");
  EXPECT_THAT(command->errors(), HasSubstr("worker:0 ended with exit code 9, starting it again"));
  expect_gone({"chief:0", "worker:0", "ps:0"});
}

TEST_F(Launch, StartsAFailedChiefAgainWhenAsked) {
  // The worker ends with the first chief, the ps lives on.
  const auto command = launch({"--workers", "1", "--ps", "1", "--restart-chief", "3"}, R"(
    echo start >> $folder/$task.starts
    starts=$(wc -l < $folder/$task.starts)
    if [ $task = chief:0 ]; then
      until [ -e $folder/worker:0.starts ] && [ $(wc -l < $folder/worker:0.starts) -ge $starts ]; do sleep 0.02; done
      touch $folder/failed; [ $starts -ge 2 ] || kill -KILL $$
      exit 0
    fi
    if [ $task = worker:0 ] && [ $starts = 1 ]; then until [ -e $folder/failed ]; do sleep 0.02; done; exit 0; fi
    exec sleep 1000)");
  EXPECT_EQ(command->wait(), 0);
  EXPECT_EQ(content("chief:0.starts"), "start\nstart\n");
  EXPECT_EQ(content("worker:0.starts"), "start\nstart\n");
  EXPECT_EQ(content("ps:0.starts"), "start\n");
  EXPECT_EQ(command->errors(), "cohort launch: chief:0 ended with exit code 137, starting it again\n");
  expect_gone({"chief:0", "worker:0", "ps:0"});
}

TEST_F(Launch, StartsAChiefNoMoreOftenThanAsked) {
  const auto command = launch({"--workers", "1", "--ps", "1", "--restart-chief", "2"}, R"(
    [ $task = chief:0 ] || exec sleep 1000
    echo start >> $folder/starts; exit 7)");
  EXPECT_EQ(command->wait(), 7);
  EXPECT_EQ(content("starts"), "start\nstart\nstart\n");
}

TEST_F(Launch, RefusesWhatCannotRun) {
  StartedCommand missing({"launch", "--workers", "1", "--ps", "1", "--", "no/such/program"}, folder_.path());
  EXPECT_EQ(missing.wait(), 1);
  EXPECT_EQ(missing.errors(),
            "cohort launch: the program must be one that can be run. Received: program=no/such/program, "
            "problem=No such file or directory. Write its path after --.\n");
  StartedCommand nothing({"launch", "--workers", "1"}, folder_.path());
  EXPECT_NE(nothing.wait(), 0);
  StartedCommand nobody({"launch", "--workers", "0", "--ps", "1", "--", "true"}, folder_.path());
  EXPECT_NE(nobody.wait(), 0);
}

}  // namespace
}  // namespace cohort
