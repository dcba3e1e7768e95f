#include "cohort/distribute/cluster/kubernetes_api.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/environment.h"
#include "cohort/files/atomic_file.h"

namespace cohort::distribute {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kShortestRequest{1000}, kLongestRequest{10000};
constexpr std::size_t kLongestPage = std::size_t{64} << 20;

std::string trimmed(std::string text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return text.substr(0, end == std::string::npos ? 0 : end + 1);
}

std::string server_of_environment(const char* who) {
  const std::string host = environment_variable("KUBERNETES_SERVICE_HOST");
  const std::string port = environment_variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    throw failed_precondition(
        who, "a pod is expected, in which Kubernetes says where it is",
        {{"KUBERNETES_SERVICE_HOST", in_quotes(host)}, {"KUBERNETES_SERVICE_PORT", in_quotes(port)}},
        "Run the program in a pod, or use another resolver.");
  }
  return "https://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

// What Kubernetes says in place of a list.
std::string message_of(const HttpAnswer& answer) {
  if (answer.status == 0) return answer.problem;
  const auto root = nlohmann::json::parse(answer.body, nullptr, false);
  const bool said = root.is_object() && root.contains("message") && root["message"].is_string();
  return said ? root["message"].get<std::string>() : answer.body.substr(0, 200);
}

}  // namespace

KubernetesApi::KubernetesApi(const char* who, std::string server, std::string pod_namespace,
                             std::string service_account)
    : who_(who),
      server_(server.empty() ? server_of_environment(who) : std::move(server)),
      account_(std::move(service_account)),
      client_(who) {
  namespace_ = pod_namespace.empty() ? account_file("namespace") : std::move(pod_namespace);
}

std::vector<Pod> KubernetesApi::list(const std::string& selector, steady_clock::time_point deadline) {
  std::vector<Pod> pods;
  std::string next;
  do {
    const HttpAnswer answer = ask(selector, next, deadline);
    // Pages are of one moment, which Kubernetes keeps for some minutes: behind that the list begins anew.
    if (answer.status == 410 && !next.empty()) throw NoAnswer{message_of(answer)};
    if (answer.status != 200) refuse(answer, selector);
    PodPage page = parse_pod_page(answer.body, who_);
    std::move(page.pods.begin(), page.pods.end(), std::back_inserter(pods));
    next = std::move(page.next);
  } while (!next.empty());
  std::sort(pods.begin(), pods.end(), pod_precedes);
  return pods;
}

// Read for each request: a token is replaced while its pod runs.
std::string KubernetesApi::account_file(const std::string& name) const {
  const std::string path = path_join(account_, name);
  std::string text, problem = "empty, or several lines";
  try {
    text = trimmed(read_file(path));
  } catch (const Error& error) {
    problem = error.what();
  }
  if (text.empty() || text.find_first_of("\r\n") != std::string::npos) {
    throw failed_precondition(who_, "a pod with its service account mounted is expected",
                              {{"file", path}, {"problem", problem}},
                              "Leave automountServiceAccountToken on in the pod's spec.");
  }
  return text;
}

HttpAnswer KubernetesApi::ask(const std::string& selector, const std::string& next, steady_clock::time_point deadline) {
  HttpRequest request{.url = server_ + "/api/v1/namespaces/" + url_escaped(namespace_) +
                             "/pods?limit=500&labelSelector=" + url_escaped(selector)};
  if (!next.empty()) request.url += "&continue=" + url_escaped(next);
  request.headers = {"Authorization: Bearer " + account_file("token"), "Accept: application/json"};
  request.room = kLongestPage;
  // The token is for this server alone.
  request.follow_redirects = false;
  request.use_proxies = false;
  request.ca_file = path_join(account_, "ca.crt");
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  request.deadline = std::clamp(left, kShortestRequest, kLongestRequest);
  return client_.ask(request);
}

void KubernetesApi::refuse(const HttpAnswer& answer, const std::string& selector) const {
  const std::string message = message_of(answer);
  if (answer.retryable) throw NoAnswer{(answer.status ? std::to_string(answer.status) + " " : "") + message};
  ErrorCode code = ErrorCode::FailedPrecondition;
  std::string_view expected = "a list of pods is expected of Kubernetes", fix;
  if (answer.distrusted) {
    expected = "a server is expected whose certificate the service account's ca.crt has signed";
    fix = "Check that nothing stands between this pod and Kubernetes.";
  } else if (answer.status == 400) {
    code = ErrorCode::InvalidArgument;
    expected = "label selectors are expected, as \"app=train,role=worker\"";
  } else if (answer.status == 401) {
    code = ErrorCode::PermissionDenied;
    expected = "a service account whose token Kubernetes takes is expected";
    fix = "Check the service account in the pod's spec.";
  } else if (answer.status == 403) {
    code = ErrorCode::PermissionDenied;
    expected = "a service account that may list pods is expected";
    fix = "Bind it to a Role with the verb list on pods, as in examples/deploy/kubernetes.";
  } else if (answer.status == 404) {
    code = ErrorCode::NotFound;
    expected = "a namespace that Kubernetes has is expected";
  }
  throw Error(code, who_, expected,
              {{"server", server_},
               {"namespace", namespace_},
               {"selector", selector},
               {"status", answer.status},
               {"message", message}},
              fix);
}

}  // namespace cohort::distribute
