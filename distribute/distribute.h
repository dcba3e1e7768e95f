#pragma once

#include "cohort/distribute/cluster/cluster_resolver.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "cohort/distribute/cluster_coordinator.h"
#include "cohort/distribute/cluster_status.h"
#include "cohort/distribute/coordinator/remote_value.h"
#include "cohort/distribute/local_cluster.h"
#include "cohort/distribute/server.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"
#include "cohort/distribute/strategies/partitioners.h"
