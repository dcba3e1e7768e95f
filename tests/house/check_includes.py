"""Checks who includes whom: the edges between rooms, the boundary between public and private headers, include cycles,
and the few files that may include gRPC, CUDA, Eigen and HDF5.

Usage: check_includes.py ROOT
"""

import os
import re
import sys

from sources import cpp_files

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmake"))

from public_headers import UMBRELLA, file_of, includes_of, public_headers  # noqa: E402

# Inside framework/, a room includes its own tier and those to the left of it.
TIERS = [
    ["config", "files", "core"],
    ["ops", "kernels", "cuda"],
    ["graph"],
    ["autodiff", "variables"],
    ["losses", "metrics", "optimizers"],
    ["data"],
    ["model"],
    ["saving", "summary"],
]
TIER_OF = {room: tier for tier, rooms in enumerate(TIERS) for room in rooms}
# Inside distribute/ likewise; rooms of one floor do not meet. What is on top, in no room, may include them all.
FLOORS = [["cluster"], ["protocol"], ["rpc"], ["collective"], ["worker", "coordinator"], ["strategies"]]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# These implement framework's interfaces and never meet one another.
SIBLINGS = ["layers", "datasets", "callbacks", "distribute"]
LIBRARY = ["framework"] + SIBLINGS
# Users of the library inside the tree; tests include all.
PROGRAMS = ["programs", "examples", "benchmarks"]

# Third-party headers: what their includes look like, and which library files may have them.
CONFINED = {
    "gRPC": (r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h$", r"distribute/rpc/"),
    "CUDA": (r"(cuda|cudnn|cublas|curand|cusparse|cusolver|cufft|nvrtc|nvml|nccl|cooperative_groups)\w*\.h$"
             r"|(cuda|cub|thrust|cooperative_groups|nvtx3)/|cudnn_frontend",
             r"framework/kernels/cuda/|framework/cuda/|distribute/collective/nccl/"),
    "HDF5": (r"(hdf5|hdf5_hl|H5\w*)\.h$|hdf5/", r"framework/saving/hdf5/"),
    "Eigen": (r"(unsupported/)?Eigen/|cohort/kernels/cpu/eigen\.h$",
              r"framework/kernels/cpu/(eigen\.h|linalg_(solve|qr|svd)\.cpp)$"),
}
# What no public header includes, so that users' builds do without these libraries.
NEVER_PUBLIC = r"google/protobuf/|.*\.pb\.h$|nlohmann/|spdlog/|CLI/|" + "|".join(
    pattern for pattern, _ in CONFINED.values())
# Rooms of the engine: cohort.h reaches none of their headers.
ENGINE = r"framework/(kernels|cuda|files|saving/(json|hdf5|legacy|checkpoint)|graph/passes)/|distribute/(rpc|protocol|worker|collective)/"

# A header that is not public is its room's own. Who else may include it:
PRIVATE_EDGES = [
    # Bytes on disk and on the wire.
    ("saving|summary|callbacks|distribute|programs|cuda|datasets", r"framework/files/"),
    ("programs|datasets", r"framework/saving/hdf5/hdf5_(file|rows)\.h"),
    ("programs", r"distribute/cluster/certificates\.h"),
    ("data|distribute", r"framework/graph/graph_proto\.h"),
    # Kernels, what they share with the definitions of their ops, and the memory they work in.
    ("kernels", r"framework/ops/(conv_window|pool_windows|slice_range)\.h"),
    ("ops|graph|model", r"framework/kernels/(functors|fusion)\.h"),
    ("kernels|datasets", r"framework/core/scratch\.h"),
    ("kernels", r"framework/core/normal_numbers\.h"),
    ("graph|kernels|ops", r"framework/core/(mixed_types|joined_steps)\.h"),
    ("graph|variables", r"framework/core/rounded_value\.h"),
    ("distribute|graph|model|ops|layers", r"framework/core/step_draws\.h"),
    ("datasets", r"framework/graph/(planned_executable|resource_use)\.h"),
    ("datasets", r"framework/data/(row_stream|stage_counters)\.h"),
    ("datasets|distribute", r"framework/core/free_memory\.h"),
    ("datasets", r"framework/core/(cpu_count|denormals|thread_share)\.h"),
    ("data", r"framework/files/data_root\.h"),
    ("graph|cuda", r"framework/core/kernel_work\.h"),
    ("distribute", r"framework/core/(cpu_count|large_blocks|thread_share)\.h"),
    ("graph|distribute", r"framework/core/pinned_memory\.h"),
    # What replicas in step meet by, and what stands for variables in their graphs.
    ("graph|kernels|distribute", r"framework/core/collective\.h"),
    ("distribute", r"framework/core/device_group\.h"),
    ("graph|ops", r"framework/core/work_halves\.h"),
    # NCCL's part of the module of the GPU.
    ("distribute", r"framework/cuda/(check|cuda_device|shared_library)\.h"),
    ("variables", r"framework/ops/collectives\.h"),
    ("variables|distribute", r"framework/graph/bound_captures\.h"),
    ("distribute", r"framework/model/fit/local_runner\.h"),
    ("graph|kernels|optimizers", r"framework/core/update_(layout|op)\.h"),
    ("layers|model", r"framework/ops/channels\.h"),
    ("layers", r"framework/ops/conv_window\.h"),
    ("variables", r"framework/ops/slice_range\.h"),
    ("losses|metrics|model|layers", r"framework/ops/epsilon\.h"),
    ("losses|model", r"framework/ops/logits\.h"),
    ("metrics", r"framework/losses/axes_field\.h"),
    # Kernels of a GPU and the device they are put into are one module.
    ("kernels", r"framework/cuda/"),
    ("cuda", r"framework/kernels/"),
    # Graphs that are rewritten, cut, sent and recorded.
    ("model|distribute", r"framework/graph/recorded_steps\.h"),
    ("autodiff", r"framework/graph/(specialize|passes/rewrite)\.h"),
    ("distribute", r"framework/graph/(partition|hoist_iterators|split_update|write_effects)\.h"),
    ("distribute", r"framework/graph/(graph_parts|resource_use|tracer)\.h"),
    # Variables as those see them that update, save or send them.
    ("optimizers|model|saving|callbacks|distribute", r"framework/variables/(variable_body|shards)\.h"),
    ("datasets", r"framework/variables/variable_body\.h"),
    ("model|saving", r"framework/variables/autocast\.h"),
    ("layers", r"framework/variables/initializer_attributes\.h"),
    # Layer calls and models as their files describe them.
    ("model", r"framework/autodiff/remat\.h"),
    ("layers", r"framework/model/layer/layer_call_scope\.h"),
    ("saving", r"framework/model/(functional|layer/layer_(arguments|names))\.h"),
    ("saving", r"framework/config/(excerpt|flatten_numbers)\.h"),
    ("saving|callbacks|distribute", r"framework/model/fit/(program|training)\.h"),
    ("distribute", r"framework/model/fit/runner_base\.h"),
    # An evaluator in a process of its own.
    ("distribute", r"framework/(model/fit/interrupt|summary/logged_scalars)\.h"),
    # Programs that look inside.
    ("programs", r"framework/model/text_table\.h|distribute/(stop_on_signal|cluster/(job_name|roles|task_exits|tf_config))\.h"),
    ("benchmarks", r"distribute/(rpc|collective)/|distribute/cluster/certificates\.h|framework/core/cpu_level\.h"),
]


def room_of_file(path):
    """framework/core/x.h is in core, layers/core/x.h in layers, programs/cohort/x.h in programs; None for tests."""
    parts = path.split("/")
    if parts[0] == "framework":
        return parts[1] if len(parts) > 2 else "framework"
    return parts[0] if parts[0] in SIBLINGS + PROGRAMS else None


def floor_problem(path, included):
    """Says what is wrong with an include inside distribute/, or returns None."""
    here, there = path.split("/")[1], included.split("/")[2]
    if there.endswith(".h"):
        return None if here.endswith((".h", ".cpp")) else "what is on top of distribute is for users, not for its rooms"
    if here.endswith((".h", ".cpp")) or here == there:
        return None
    for room in (here, there):
        if room not in FLOOR_OF:
            return f"the room distribute/{room} has no floor"
    if FLOOR_OF[there] >= FLOOR_OF[here]:
        return f"distribute/{here} is not above distribute/{there}"
    return None


def violation(path, included):
    """Says what is wrong with `path` including `included` by the order of rooms, or returns None."""
    room = room_of_file(path)
    if room is None or room in PROGRAMS or path == UMBRELLA:
        return None
    for name, (pattern, allowed) in CONFINED.items():
        if re.match(pattern, included) and not re.match(allowed, path):
            return f"only {allowed.replace('|', ', ')} may include {name}"
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
        return floor_problem(path, included) if room == target == "distribute" else None
    if target in SIBLINGS:
        return f"framework never includes {target}"
    if room not in TIER_OF or target not in TIER_OF:
        return f"the room {room if room not in TIER_OF else target} has no place in the order of framework's rooms"
    if TIER_OF[target] > TIER_OF[room]:
        return f"{room} stands left of {target}"
    return None


def boundary_problem(path, included, target, public):
    """Says what is wrong with an include by the boundary between public and private headers, or returns None."""
    if path in public:
        if re.match(NEVER_PUBLIC, included):
            return "a public header includes no third-party header"
        if target and re.match(ENGINE, target):
            return "cohort.h reaches this public header, and through it the engine's"
    room = room_of_file(path)
    if not target or target in public or room is None or room_of_file(target) == room:
        return None
    if any(re.fullmatch(rooms, room) and re.match(headers, target) for rooms, headers in PRIVATE_EDGES):
        return None
    return f"a private header of {room_of_file(target)}: use what is public, or add the edge to PRIVATE_EDGES"


def cycles(graph):
    """One line per cycle among headers."""
    found, done, path = [], set(), []

    def visit(header):
        if header in path:
            found.append("include cycle: " + " -> ".join(path[path.index(header):] + [header]))
        elif header not in done:
            path.append(header)
            for included in graph.get(header, []):
                visit(included)
            done.add(path.pop())

    for header in sorted(graph):
        visit(header)
    return found


def check(root):
    """Returns one line per wrong include in the tree under root."""
    problems, graph = [], {}
    public = public_headers(root)
    for path in cpp_files(root):
        for number, line, included in includes_of(root, path):
            target = file_of(root, included)
            if target and path.endswith(".h"):
                graph.setdefault(path, []).append(target)
            problem = violation(path, included) or boundary_problem(path, included, target, public)
            if problem:
                problems.append(f"{path}:{number}: {line.strip()}: {problem}")
    return problems + cycles(graph)


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "all includes keep to the order of the rooms")
    sys.exit(1 if found else 0)
