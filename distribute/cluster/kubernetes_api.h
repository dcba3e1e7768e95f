#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/distribute/cluster/kubernetes_pods.h"
#include "cohort/files/http_client.h"

namespace cohort::distribute {

// Asks Kubernetes for pods, with the service account of the pod that this process runs in. For one thread at a time.
class KubernetesApi {
 public:
  // Kubernetes cannot be asked just now.
  struct NoAnswer {
    std::string problem;
  };

  // Throws FailedPrecondition in the name of `who` outside of a pod.
  //   server: "https://host:port"; empty: as the environment says.
  //   pod_namespace: where the pods are; empty: the service account's.
  //   service_account: the folder of its token, ca.crt and namespace.
  KubernetesApi(const char* who, std::string server, std::string pod_namespace, std::string service_account);

  const std::string& server() const { return server_; }
  const std::string& pod_namespace() const { return namespace_; }

  // All pods that a label selector finds, in order. Throws NoAnswer where it may be asked again, and an Error for what
  // waiting does not mend.
  std::vector<Pod> list(const std::string& selector, std::chrono::steady_clock::time_point deadline);

 private:
  std::string account_file(const std::string& name) const;
  HttpAnswer ask(const std::string& selector, const std::string& next, std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void refuse(const HttpAnswer& answer, const std::string& selector) const;

  const char* who_;
  std::string server_, namespace_, account_;
  HttpClient client_;
};

}  // namespace cohort::distribute
