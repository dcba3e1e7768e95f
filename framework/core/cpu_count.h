#pragma once

namespace cohort {

// How many CPUs this process may keep busy: the cores it is bound to, or fewer where a container's quota says so. At
// least 1.
int usable_cpus();

}  // namespace cohort
