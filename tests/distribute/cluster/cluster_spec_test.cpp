#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/cluster/roles.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Address, TakesHostsAndPortsApart) {
  EXPECT_EQ(parse_address("localhost:4242", "test"), (Address{"localhost", 4242}));
  EXPECT_EQ(parse_address("ps-0.train_job.svc:0", "test"), (Address{"ps-0.train_job.svc", 0}));
  EXPECT_EQ(parse_address("10.0.0.1:65535", "test"), (Address{"10.0.0.1", 65535}));
  EXPECT_EQ(parse_address("[::1]:80", "test"), (Address{"::1", 80}));
  EXPECT_EQ(parse_address("[fe80::1%eth0]:80", "test").to_string(), "[fe80::1%eth0]:80");
  EXPECT_EQ(parse_address("h:80", "test").to_string(), "h:80");
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* text :
       {"",        "localhost", ":80",    "h:",          "h:-1",  "h:+1",    "h:65536", "h:99999999999",
        "h:80 ",   " h:80",     "h:8a",   "::1:80",      "[::1]", "[::1]80", "[]:80",   "[host]:80",
        "[::1:80", "a b:80",    "h/x:80", "grpc://h:80", "h:0x50"}) {
    EXPECT_THAT(error_of([&] { parse_address(text, "who"); }),
                AllOf(HasSubstr("InvalidArgument who: an address must be host:port with a port from 0 to 65535."),
                      HasSubstr("Received: address=" + std::string(text) + ".")));
  }
}

TEST(Address, HostsAreNamesOrNumbers) {
  for (const char* text : {"machine-a.example.com:2222", "host.:1", "a_b:1", "1.2.3.4:1", "4u:1", "xn--bcher-kva.de:1",
                           "[2001:db8::5]:1", "[::ffff:10.0.0.1]:1", "[fe80::1%eth0.5]:1"})
    EXPECT_EQ(error_of([&] { parse_address(text, "who"); }), "");
  const auto problem = [](const std::string& host) { return error_of([&] { parse_address(host + ":80", "who"); }); };
  EXPECT_THAT(problem("1.2.3.256"), HasSubstr("An IPv4 address has four numbers from 0 to 255."));
  EXPECT_THAT(problem("10.1"), HasSubstr("An IPv4 address has four numbers"));
  for (const char* host : {"a..b", ".a", "-a", "a-.b"}) EXPECT_THAT(problem(host), HasSubstr("Between dots"));
  EXPECT_THAT(problem(std::string(64, 'a')), HasSubstr("1 to 63 characters"));
  EXPECT_THAT(problem(std::string(200, 'a') + "." + std::string(60, 'b')), HasSubstr("253 characters at most"));
  for (const char* host : {"[1.2.3.4]", "[::g]", "[1:2:3]", "[::1%]", "[::1%a b]", "[12345::]"})
    EXPECT_THAT(problem(host), HasSubstr("Brackets are for IPv6 addresses"));
}

TEST(Address, TwoSpellingsAreOne) {
  EXPECT_EQ(parse_address("[0:0:0::0:1]:80", "test").normalized(), "[::1]:80");
  EXPECT_EQ(parse_address("[FD00::A%eth0]:80", "test").normalized(), "[fd00::a%eth0]:80");
  EXPECT_EQ(parse_address("Machine-A:080", "test").normalized(), "machine-a:80");
  EXPECT_EQ(host_of("Machine-A:080"), host_of("machine-a:443"));
  EXPECT_NE(host_of("machine-a:80"), host_of("machine-b:80"));
}

TEST(ClusterSpec, HasAnyJobNamesAndHosts) {
  // The cluster of the book that the project follows, and names of one's own.
  const ClusterSpec book({{"worker", {"machine-a.example.com:2222", "machine-b.example.com:2222"}},
                          {"ps", {"machine-a.example.com:2221"}}});
  EXPECT_EQ(book.task_address("worker", 1), "machine-b.example.com:2222");
  const ClusterSpec own({{"my_job-2.x", {"[fd00::1]:1", "[fd00::2]:1"}}, {"Trainer", {"10.0.0.1:1"}}});
  EXPECT_EQ(own.as_text(), R"({"Trainer":["10.0.0.1:1"],"my_job-2.x":["[fd00::1]:1","[fd00::2]:1"]})");
  const ClusterSpec sparse(std::map<std::string, ClusterSpec::Tasks>{{"worker", {{1, "machine-b.example.com:2222"}}}});
  EXPECT_EQ(sparse.as_text(), R"({"worker":{"1":"machine-b.example.com:2222"}})");
  EXPECT_THAT(error_of([] {
                ClusterSpec({{"a", {"[::1]:1"}}, {"b", {"[0::1]:1"}}});
              }),
              HasSubstr("every task must have an address of its own"));
  for (const char* job : {"a b", "a/b", "a:b", "a\n"})
    EXPECT_THAT(error_of([&] { ClusterSpec({{job, {"h:1"}}}); }), HasSubstr("a job's name must have no spaces"));
}

TEST(ClusterSpec, CountsAndFindsTasks) {
  const ClusterSpec spec({{"worker", {"h:1", "h:2"}}, {"ps", {"h:3"}}});
  EXPECT_THAT(spec.jobs(), ElementsAre("ps", "worker"));
  EXPECT_EQ(spec.num_tasks("worker"), 2);
  EXPECT_EQ(spec.num_tasks(), 3);
  EXPECT_THAT(spec.task_indices("worker"), ElementsAre(0, 1));
  EXPECT_EQ(spec.task_address("worker", 1), "h:2");
  EXPECT_EQ(spec.as_text(), R"({"ps":["h:3"],"worker":["h:1","h:2"]})");
  EXPECT_FALSE(spec.empty());
  EXPECT_TRUE(ClusterSpec().empty());
}

TEST(ClusterSpec, IndicesMayHaveHoles) {
  const ClusterSpec spec(std::map<std::string, ClusterSpec::Tasks>{{"worker", {{0, "h:1"}, {2, "h:2"}}}, {"ps", {}}});
  EXPECT_EQ(spec.num_tasks("worker"), 2);
  EXPECT_THAT(spec.task_indices("worker"), ElementsAre(0, 2));
  EXPECT_EQ(spec.as_text(), R"({"ps":[],"worker":{"0":"h:1","2":"h:2"}})");
  EXPECT_THAT(error_of([&] { spec.task_address("worker", 1); }), HasSubstr("NotFound ClusterSpec: the task must be"));
}

TEST(ClusterSpec, NamesWhatItDoesNotHave) {
  const ClusterSpec spec({{"worker", {"h:1"}}, {"ps", {"h:3"}}});
  EXPECT_THAT(error_of([&] { spec.task_address("worker", 1); }),
              AllOf(HasSubstr("NotFound"), HasSubstr("task=worker:1"), HasSubstr(spec.as_text())));
  EXPECT_THAT(error_of([&] { spec.num_tasks("wroker"); }),
              AllOf(HasSubstr("NotFound"), HasSubstr("job=wroker"), HasSubstr("jobs=[ps, worker]")));
}

TEST(ClusterSpec, RefusesBadAndRepeatedAddresses) {
  EXPECT_THAT(error_of([] {
                ClusterSpec({{"worker", {"h:1", "nowhere"}}});
              }),
              AllOf(HasSubstr("ClusterSpec 'worker:1': an address must be host:port"), HasSubstr("address=nowhere")));
  EXPECT_THAT(error_of([] {
                ClusterSpec({{"ps", {"h:1"}}, {"worker", {"h:2", "H:01"}}});
              }),
              AllOf(HasSubstr("InvalidArgument ClusterSpec: every task must have an address of its own"),
                    HasSubstr("address=H:01"), HasSubstr("ps:0, worker:1")));
  EXPECT_THAT(error_of([] {
                ClusterSpec({{"ps", {"h:1"}}, {"ps", {"h:2"}}});
              }),
              HasSubstr("a job must be listed once"));
  EXPECT_THAT(error_of([] { ClusterSpec({{"", {"h:1"}}}); }), HasSubstr("every job must have a name"));
  EXPECT_THAT(error_of([] {
                ClusterSpec(std::map<std::string, ClusterSpec::Tasks>{{"ps", {{-1, "h:1"}}}});
              }),
              HasSubstr("index must be 0 or more"));
  EXPECT_EQ(error_of([] { ClusterSpec({{"ps", {"h:0"}}, {"worker", {"h:0", "h:0"}}}); }), "");
}

TEST(Roles, TheChiefLeadsOrElseTheFirstWorker) {
  const ClusterSpec led({{"chief", {"h:1"}}, {"worker", {"h:2", "h:3"}}, {"ps", {"h:4"}}});
  EXPECT_TRUE(is_chief(led, "chief", 0));
  EXPECT_FALSE(is_chief(led, "worker", 0));
  EXPECT_FALSE(is_chief(led, "ps", 0));
  EXPECT_TRUE(is_chief(led, "evaluator", 0));

  const ClusterSpec unled({{"worker", {"h:2", "h:3"}}, {"chief", {}}});
  EXPECT_TRUE(is_chief(unled, "worker", 0));
  EXPECT_FALSE(is_chief(unled, "worker", 1));
  EXPECT_TRUE(is_chief({}, "", 0));
}

TEST(Roles, AChiefNeverTalksToTheEvaluator) {
  const ClusterSpec spec({{"chief", {"h:1"}}, {"evaluator", {"h:5"}}, {"ps", {"h:4"}}, {"worker", {"h:2", "h:3"}}});
  std::vector<std::string> names;
  for (const ClusterTask& task : serving_tasks(spec)) names.push_back(task.name() + "@" + task.address);
  EXPECT_THAT(names, ElementsAre("ps:0@h:4", "worker:0@h:2", "worker:1@h:3"));
}

TEST(Roles, ATaskMustExist) {
  const ClusterSpec spec({{"chief", {"h:1"}}, {"worker", {"h:2"}}});
  EXPECT_EQ(error_of([&] { check_task(spec, "worker", 0, "who"); }), "");
  EXPECT_EQ(error_of([&] { check_task(spec, "evaluator", 0, "who"); }), "");
  EXPECT_EQ(error_of([&] { check_task(spec, "", 7, "who"); }), "");
  EXPECT_EQ(error_of([&] { check_task({}, "worker", 7, "who"); }), "");
  EXPECT_THAT(error_of([&] { check_task(spec, "worker", 1, "who"); }),
              AllOf(HasSubstr("InvalidArgument who: the task must be one of the cluster"), HasSubstr("task=worker:1")));
  EXPECT_THAT(error_of([&] { check_task(spec, "ps", 0, "who"); }), HasSubstr("Add the task to the cluster"));
  EXPECT_THAT(error_of([&] { check_task(spec, "evaluator", 1, "who"); }), HasSubstr("task=evaluator:1"));
}

TEST(Roles, AParameterServerClusterNeedsBothKinds) {
  const auto check = [](std::map<std::string, std::vector<std::string>> jobs) {
    return error_of([&] { check_parameter_server_cluster(jobs); });
  };
  EXPECT_EQ(check({{"chief", {"h:1"}}, {"worker", {"h:2"}}, {"ps", {"h:3"}}, {"evaluator", {"h:4"}}}), "");
  EXPECT_EQ(check({{"chief", {"h:0"}}, {"worker", {"h:2"}}, {"ps", {"h:3"}}}), "");
  EXPECT_EQ(check({{"worker", {"h:2"}}, {"ps", {"h:3"}}}), "");
  EXPECT_THAT(check({{"worker", {"h:2"}}}),
              HasSubstr("InvalidArgument ParameterServerStrategy: the cluster must have at least one ps"));
  EXPECT_THAT(check({{"ps", {"h:2"}}, {"worker", {}}}), HasSubstr("at least one worker"));
  EXPECT_THAT(check({{"worker", {"h:2"}}, {"ps", {"h:3"}}, {"master", {"h:4"}}}),
              AllOf(HasSubstr("must be called chief, worker, ps or evaluator"), HasSubstr("job='master'")));
  EXPECT_THAT(check({{"worker", {"h:2"}}, {"ps", {"h:3"}}, {"chief", {"h:4", "h:5"}}}), HasSubstr("at most one chief"));
  EXPECT_THAT(check({{"worker", {"h:2"}}, {"ps", {"h:3"}}, {"evaluator", {"h:4", "h:5"}}}),
              HasSubstr("at most one evaluator"));
  EXPECT_THAT(check({{"worker", {"h:0"}}, {"ps", {"h:3"}}}),
              AllOf(HasSubstr("must have a port of its own"), HasSubstr("task=worker:0")));
}

}  // namespace
}  // namespace cohort::distribute
