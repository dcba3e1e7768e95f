#pragma once

namespace cohort {

// How many CPUs this process may keep busy: the cores it is bound to, or fewer where a container's quota says so. At
// least 1.
int usable_cpus();

// As many for each of `processes` of this machine that compute at once. Cores that this one is bound to, where the
// machine has more, are most likely its own. At least 1.
int usable_cpus_of_each(int processes);

}  // namespace cohort
