"""Checks what several sources in one translation unit would mix up: equal file-local names, and macros left defined.

A release build compiles the sources of a room several at a time. Equal names of functions in two of them then become
overloads of one another without a word, and which files meet changes with every new one.

Usage: check_unity.py ROOT
"""

import os
import re
import sys
from collections import defaultdict

from sources import cpp_files

# Sources that are compiled one by one (cmake/CohortModule.cmake, COHORT_COMPILED_ALONE), and folders of programs.
COMPILED_ALONE = re.compile(
    r"framework/kernels/(cpu/(linalg_|reduce\.|gemm\.|conv_pa)|cuda/)|examples/|benchmarks/"
    r"|tests/(contract|fuzz|install|interop|reference)/")

OPENS = re.compile(r"^namespace \{")
CLOSES = re.compile(r"^\}  // namespace$")
TYPE = re.compile(r"^(?:template <.*> *)?(?:class|struct|enum class|enum|union) (\w+)\b(?! *[,>])")
ALIAS = re.compile(r"^using (\w+) =")
FUNCTION = re.compile(r"^(?!return\b|using\b|namespace\b|typedef\b|TEST|COHORT_|INSTANTIATE)[\w:<>,&*\[\] ]*?[\w>&*\]] [*&]?(\w+)\(")
VARIABLE = re.compile(r"^(?:inline |static |constexpr |const |thread_local )+[\w:<>,*& ]+? [*&]?(\w+)(?:\[\w*\])* ?[={;]")
PLAIN_VARIABLES = re.compile(r"^[\w:<>]+ (\w+(?:, \w+)*);$")
NEXT_VARIABLE = re.compile(r", [*&]?(\w+)(?: = |\{)")  # a further one of the same declaration
STATIC = re.compile(r"^static ")
DEFINE = re.compile(r"^\s*#\s*define (\w+)")
UNDEF = re.compile(r"^\s*#\s*undef (\w+)")


def room_of(path):
    """The folder whose sources may be compiled together; None for those that never are."""
    if path.endswith(".cu"):
        return "framework/kernels/cuda" if path.startswith("framework/kernels/cuda/") else None
    if COMPILED_ALONE.match(path):
        return None
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("framework", "tests") or path.startswith("distribute/rpc/") else parts[0]


def local_names(lines):
    """The names that a source declares for itself alone, each with its first line's number and text."""
    names, inside = {}, False
    for number, line in enumerate(lines, 1):
        if OPENS.match(line):
            inside = True
        elif CLOSES.match(line):
            inside = False
        elif (inside and line[:1].isalpha()) or STATIC.match(line):
            for pattern in (TYPE, ALIAS, FUNCTION, VARIABLE, PLAIN_VARIABLES):
                match = pattern.match(line)
                if match:
                    further = NEXT_VARIABLE.findall(line) if pattern is VARIABLE else []
                    for name in [*match.group(1).split(", "), *further]:
                        names.setdefault(name, (number, line))
                    break
    return names


def left_defined(lines):
    """The macros that a source defines and does not take back, each with its line's number."""
    macros = {}
    for number, line in enumerate(lines, 1):
        if match := DEFINE.match(line):
            macros[match.group(1)] = number
        elif match := UNDEF.match(line):
            macros.pop(match.group(1), None)
    return macros


def check(root):
    """Returns one line per name or macro that could reach another source."""
    problems, places = [], defaultdict(list)
    for path in cpp_files(root):
        room = room_of(path)
        if room is None or not path.endswith((".cpp", ".cu")):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as source:
            lines = source.read().split("\n")
        for name, (number, line) in local_names(lines).items():
            places[room, name].append((f"{path}:{number}", line))
        problems += [f"{path}:{number}: #define {name} lacks an #undef" for name, number in left_defined(lines).items()]
    for (_, name), where in sorted(places.items()):
        aliases = {line for _, line in where if ALIAS.match(line)}
        if len(where) > 1 and not (len(aliases) == 1 and all(line in aliases for _, line in where)):
            others = ", ".join(place for place, _ in where[1:])
            problems.append(f"{where[0][0]}: the file-local name {name} is also in {others}")
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "no source can reach another's own names")
    sys.exit(1 if found else 0)
