#pragma once

#include <string>
#include <vector>

namespace cohort::interop {

// Prints what a KubernetesClusterResolver finds, or the error, for the Python test that plays Kubernetes.
//   arguments: server=URL account=DIR pod=NAME timeout=SECONDS port_name=NAME names=1, tasks:JOB=N and
//   job:JOB=SELECTOR.
void print_kubernetes(const std::vector<std::string>& arguments);

// Prints the hosts of each host list on a line of its own.
void print_hostlists(const std::vector<std::string>& arguments);

// Prints what a SlurmClusterResolver reads of the environment.
//   arguments: JOB=N.
void print_slurm(const std::vector<std::string>& arguments);

}  // namespace cohort::interop
