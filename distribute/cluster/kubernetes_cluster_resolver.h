#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

// Which pods are a cluster, and how Kubernetes is asked.
struct KubernetesClusterResolverOptions {
  // Label selectors of each job's pods: {{"worker", {"app=train,role=worker"}}, {"ps", {"app=train,role=ps"}}}. Pods of
  // a job's second selector follow those of its first.
  std::map<std::string, std::vector<std::string>> job_to_label_mapping = {{"worker", {"job-name=tensorflow"}}};
  // The port that tasks serve at.
  int tf_server_port = 8470;
  // Name of a port that a pod's containers declare: it holds for those pods in place of tf_server_port.
  std::string port_name = {};
  // The protocol in front of addresses.
  std::string rpc_layer = "grpc";
  // How many pods of a job are waited for; a job that is not listed has those that are there, one at least.
  std::map<std::string, std::int64_t> num_tasks = {};
  // Whether pods with a host name and a subdomain (those of a StatefulSet) are called by these, which last when a pod
  // is started again, and not by their IP.
  bool use_host_names = false;
  // Seconds that pods and Kubernetes itself are waited for.
  double start_timeout = 60.0;
  // The job of this process's task; none: the one that has this pod.
  std::optional<std::string> task_type = std::nullopt;
  // The number of this process's task; none: that of this pod.
  std::optional<std::int64_t> task_id = std::nullopt;
  // This pod; empty: as POD_NAME says, or else the machine's name.
  std::string pod_name = {};
  // Where the pods are; empty: where this one is.
  std::string pod_namespace = {};
  // "https://host:port" of Kubernetes; empty: as KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT say.
  std::string api_server = {};
  // The folder of the service account's token, ca.crt and namespace.
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Finds the pods of the own namespace by their labels and calls them tasks, in the order of their names ("ps-2" before
// "ps-10"); pods of one StatefulSet have the number in their name. It asks with the service account of the pod, which
// must be allowed to list pods. What is pending, has no IP, or is missing among the pods of a StatefulSet is waited
// for; pods that have ended, or are being deleted, are not there.
//
// The first question asks Kubernetes and waits for up to `start_timeout` (DeadlineExceeded, naming the pods that are
// missing; Unavailable where Kubernetes cannot be reached); then the answer stays the same. Refused by Kubernetes, it
// throws PermissionDenied. Thread-safe; copies share their answer.
class KubernetesClusterResolver : public ClusterResolver {
 public:
  // Asks nothing yet. Throws InvalidArgument for options that cannot be.
  explicit KubernetesClusterResolver(KubernetesClusterResolverOptions options = {});
  ClusterSpec cluster_spec() const override;
  // Empty in a pod that is none of the cluster's.
  std::string task_type() const override;
  std::int64_t task_id() const override;
  std::string rpc_layer() const override;
  // "kubernetes".
  std::string environment() const override { return "kubernetes"; }

 private:
  class Body;

  std::shared_ptr<Body> body_;
};

}  // namespace cohort::distribute
