"""Checks who includes whom: the edges between rooms, and the few files that may include gRPC, CUDA and HDF5.

Usage: check_includes.py ROOT
"""

import os
import re
import sys

from sources import cpp_files

# Inside framework/, a room includes its own tier and those to the left of it.
TIERS = [
    ["core"],
    ["ops", "kernels", "cuda"],
    ["graph"],
    ["autodiff", "variables"],
    ["losses", "metrics", "optimizers"],
    ["data"],
    ["model"],
    ["saving", "summary"],
]
TIER_OF = {room: tier for tier, rooms in enumerate(TIERS) for room in rooms}
# These implement framework's interfaces and never meet one another.
SIBLINGS = ["layers", "datasets", "callbacks", "distribute"]
# The user's one include: the only file of framework/ that sees everything.
UMBRELLA = "framework/cohort.h"
LIBRARY = ["framework"] + SIBLINGS

# Third-party headers: what their includes look like, and which library files may have them.
CONFINED = {
    "gRPC": (r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h$", r"distribute/rpc/"),
    "CUDA": (r"(cuda|cudnn|cublas|curand|cusparse|cusolver|cufft|nvrtc|nvml|nccl|cooperative_groups)\w*\.h$"
             r"|(cuda|cub|thrust|cooperative_groups|nvtx3)/|cudnn_frontend",
             r"framework/kernels/cuda/|framework/cuda/|distribute/collective/nccl/"),
    "HDF5": (r"(hdf5|hdf5_hl|H5\w*)\.h$|hdf5/|cohort/saving/hdf5_\w+_impl\.h$", r"framework/saving/hdf5_"),
}
# Headers are public unless they lie in these folders or are called x_impl.h; public ones keep third-party headers out of users' builds.
PRIVATE_HEADERS = r"framework/kernels/|framework/cuda/|distribute/rpc/|distribute/collective/nccl/|.*_impl\.h$"
NEVER_PUBLIC = r"Eigen/|unsupported/Eigen/|google/protobuf/|.*\.pb\.h$|nlohmann/|spdlog/|CLI/|cblas\.h$|hdf5|H5\w*\.h$|grpc|.*_impl\.h$"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def room_of_file(path):
    """framework/core/x.h is in core, layers/core/x.h in layers, everything outside the library in None."""
    parts = path.split("/")
    if parts[0] not in LIBRARY:
        return None
    return parts[1] if parts[0] == "framework" and len(parts) > 2 else parts[0]


def violation(path, included):
    """Says what is wrong with `path` including `included`, or returns None."""
    room = room_of_file(path)
    if room is None or path == UMBRELLA:
        return None
    for name, (pattern, allowed) in CONFINED.items():
        if re.match(pattern, included) and not re.match(allowed, path):
            return f"only {allowed.replace('|', ', ')} may include {name}"
    if path.endswith(".h") and re.match(NEVER_PUBLIC, included) and not re.match(PRIVATE_HEADERS, path):
        return "a public header includes no third-party header and no private one"
    if re.match(r"(\.\./|\./|framework/|tests/|" + "|".join(f"{sibling}/" for sibling in SIBLINGS) + ")", included):
        return 'files of the project are included as "cohort/<room>/<file>.h"'
    if not included.startswith("cohort/"):
        return None

    target = included.split("/")[1]
    if target == "cohort.h":
        return "the umbrella header is for users: include what is used"
    if target == "cuda" and not re.match(CONFINED["CUDA"][1], path):
        return "only the CUDA module may include cohort/cuda"
    if room in SIBLINGS:
        if target in SIBLINGS and target != room:
            return f"{room} and {target} are siblings and never meet"
    elif target in SIBLINGS:
        return f"framework never includes {target}"
    elif room not in TIER_OF or target not in TIER_OF:
        return f"the room {room if room not in TIER_OF else target} has no place in the order of framework's rooms"
    elif TIER_OF[target] > TIER_OF[room]:
        return f"{room} stands left of {target}"
    return None


def check(root):
    """Returns one line per wrong include in the tree under root."""
    problems = []
    for path in cpp_files(root):
        with open(os.path.join(root, path), encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                match = INCLUDE.match(line)
                problem = match and violation(path, match.group(1))
                if problem:
                    problems.append(f"{path}:{number}: {line.strip()}: {problem}")
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "all includes keep to the order of the rooms")
    sys.exit(1 if found else 0)
