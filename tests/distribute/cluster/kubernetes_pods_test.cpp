#include "cohort/distribute/cluster/kubernetes_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cohort/core/text.h"
#include "cohort/distribute/cluster/kubernetes_cluster_resolver.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Pod pod(const std::string& name, const std::string& set = {}, bool ready = true, bool gone = false) {
  Pod result;
  result.name = name;
  result.ip = "10.0.0.1";
  result.stateful_set = set;
  result.ready = ready;
  result.gone = gone;
  result.state = ready ? "Running" : gone ? "Failed" : "Pending";
  return result;
}

std::string tasks(const PodTasks& numbered) {
  return join(numbered.tasks, [](const auto& task) { return std::to_string(task.first) + "=" + task.second.name; });
}

TEST(KubernetesPods, AreReadFromAList) {
  const PodPage page = parse_pod_page(R"({"kind": "PodList", "metadata": {"continue": "next"}, "items": [
    {"metadata": {"name": "w-1", "ownerReferences": [{"kind": "StatefulSet", "name": "w"}]},
     "spec": {"hostname": "w-1", "subdomain": "train",
              "containers": [{"ports": [{"name": "grpc", "containerPort": 4242}, {"containerPort": 80}]}, {}]},
     "status": {"phase": "Running", "podIP": "fd00::7"}},
    {"metadata": {"name": "w-2"}, "status": {"phase": "Pending",
     "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}},
    {"metadata": {"name": "w-3"}, "status": {"phase": "Pending",
     "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}},
    {"metadata": {"name": "w-4"}, "status": {"phase": "Running"}},
    {"metadata": {"name": "w-5", "deletionTimestamp": "2026-01-01T00:00:00Z"},
     "status": {"phase": "Running", "podIP": "10.0.0.5"}},
    {"metadata": {"name": "w-6"}, "status": {"phase": "Failed", "reason": "Evicted", "podIP": "10.0.0.6"}},
    {"metadata": {"name": "w-7"}}, 3, {}]})",
                                      "who");
  EXPECT_EQ(page.next, "next");
  std::vector<std::string> states;
  for (const Pod& each : page.pods)
    states.push_back(each.name + " " + each.state + (each.ready ? " ready" : "") + (each.gone ? " gone" : ""));
  EXPECT_THAT(states, ElementsAre("w-1 Running ready", "w-2 Pending (ImagePullBackOff)",
                                  "w-3 Pending (0/3 nodes are available)", "w-4 Running without an IP",
                                  "w-5 being deleted gone", "w-6 Failed (Evicted) gone", "w-7 Unknown"));
  EXPECT_EQ(page.pods[0].ip, "fd00::7");
  EXPECT_EQ(page.pods[0].host_name, "w-1.train");
  EXPECT_EQ(page.pods[0].stateful_set, "w");
  EXPECT_EQ(page.pods[0].ports.at("grpc"), 4242);
  EXPECT_EQ(page.pods[0].ordinal(), 1);
  for (const char* text : {"", "[]", "{}", "<html>", R"({"kind": "PodList"})", R"({"kind": "Status", "items": []})"})
    EXPECT_THAT(error_of([&] { parse_pod_page(text, "who"); }), HasSubstr("DataLoss who: a list of pods is expected"));
}

TEST(KubernetesPods, AreInTheOrderOfTheirNumbers) {
  std::vector<Pod> pods;
  for (const char* name : {"w-10", "w-2", "w", "a-7d9-x2k", "w-1", "a-7d9-b", "12"}) pods.push_back(pod(name));
  std::sort(pods.begin(), pods.end(), pod_precedes);
  EXPECT_EQ(join(pods, &Pod::name, " "), "12 a-7d9-b a-7d9-x2k w w-1 w-2 w-10");
}

TEST(KubernetesPods, OfOneStatefulSetHaveTheirNumbers) {
  const auto numbered = [](const std::vector<Pod>& pods, std::optional<std::int64_t> expected = std::nullopt) {
    const PodTasks result = number_pods("worker", pods, expected);
    return tasks(result) + (result.awaited.empty() ? "" : " awaits " + join(result.awaited, {}, "; "));
  };
  EXPECT_EQ(numbered({pod("w-0", "w"), pod("w-1", "w")}), "0=w-0, 1=w-1");
  EXPECT_EQ(numbered({pod("w-0", "w"), pod("w-2", "w")}), "0=w-0, 2=w-2 awaits w-1 not there");
  EXPECT_EQ(numbered({pod("w-1", "w")}, 3), "1=w-1 awaits w-0 not there; w-2 not there");
  // Its set will start it again.
  EXPECT_EQ(numbered({pod("w-0", "w"), pod("w-1", "w", false, true)}), "0=w-0 awaits w-1 Failed");
  EXPECT_EQ(numbered({pod("w-0", "w"), pod("w-1", "w")}, 1), "0=w-0, 1=w-1 awaits worker: 2 of 1 pods");
}

TEST(KubernetesPods, OfOthersAreCounted) {
  const PodTasks jobs = number_pods("worker", {pod("a-5"), pod("b-7"), pod("c", "", false, true)}, std::nullopt);
  EXPECT_EQ(tasks(jobs), "0=a-5, 1=b-7");
  EXPECT_THAT(jobs.awaited, IsEmpty());
  EXPECT_EQ(tasks(number_pods("worker", {pod("w-0", "w"), pod("x-0", "x")}, 2)), "0=w-0, 1=x-0");
  EXPECT_THAT(number_pods("worker", {pod("a"), pod("b", "", false)}, std::nullopt).awaited, ElementsAre("b Pending"));
  EXPECT_THAT(number_pods("worker", {}, std::nullopt).awaited, ElementsAre("worker: 0 pods"));
  EXPECT_THAT(number_pods("worker", {pod("a", "", false, true)}, 2).awaited,
              ElementsAre("worker: 0 of 2 pods, a Failed"));
  EXPECT_THAT(number_pods("worker", {pod("a")}, 2).awaited, ElementsAre("worker: 1 of 2 pods"));
}

TEST(KubernetesClusterResolver, RefusesWhatCannotBe) {
  const auto problem = [](KubernetesClusterResolverOptions options) {
    return error_of([&] { KubernetesClusterResolver resolver(options); });
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_THAT(problem({.tf_server_port = 0}), HasSubstr("InvalidArgument KubernetesClusterResolver: a tf_server_port"));
  EXPECT_THAT(problem({.job_to_label_mapping = {{"ps", {}}}}), HasSubstr("every job must have label selectors"));
  EXPECT_THAT(problem({.job_to_label_mapping = {{"ps", {""}}}}), HasSubstr("job=ps"));
  EXPECT_THAT(problem({.num_tasks = {{"ps", 1}}}), HasSubstr("of jobs that have label selectors"));
  EXPECT_THAT(problem({.num_tasks = {{"worker", 0}}}), HasSubstr("num_tasks must be 1 or more"));
  EXPECT_THAT(problem({.start_timeout = -1}), HasSubstr("a start_timeout of 0"));
  EXPECT_THAT(problem({.api_server = "http://h:1"}), HasSubstr("an api_server https://"));
}

TEST(KubernetesClusterResolver, IsForPods) {
  const test::EnvironmentVariables outside({{"KUBERNETES_SERVICE_HOST", std::nullopt}});
  EXPECT_THAT(error_of([] { KubernetesClusterResolver().cluster_spec(); }),
              AllOf(HasSubstr("FailedPrecondition KubernetesClusterResolver: a pod is expected"),
                    HasSubstr("KUBERNETES_SERVICE_HOST=''")));
  EXPECT_THAT(error_of([] {
                KubernetesClusterResolver({.api_server = "https://h:1", .service_account = "/nowhere"}).task_type();
              }),
              AllOf(HasSubstr("a pod with its service account mounted"), HasSubstr("/nowhere/namespace"),
                    HasSubstr("automountServiceAccountToken")));
}

}  // namespace
}  // namespace cohort::distribute
