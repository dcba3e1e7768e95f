"""Checks that the C++ in docs/extending.md and in the intros of docs/reference is what tests/contract compiles, and that
the files which the docs name are there.

Usage: check_docs.py ROOT
"""

import glob
import os
import re
import sys

from sources import project_files

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Pages and the program that holds their code.
PAGES = {
    "docs/extending.md": "tests/contract/program_extending.cpp",
    "tools/reference_lib/intros/*.md": "tests/contract/program_reference.cpp",
}

# A name in backticks with a slash in it; an "x" in it stands for any name.
NAMED_PATH = re.compile(r"`((?:[\w-]+/)+[\w.-]*)`")
NOT_IN_THE_TREE = re.compile(r"(build|logs|ckpt)/|.*/x(_\w+)?(\.\w+)?$|.*\b(cuda|nccl)\b")
# Its paths are those of values in a checkpoint.
PATHS_OF_OTHERS = ["docs/checkpoints.md"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check(root):
    """Returns the first line of every block of code that stands in a page and not in its program."""
    problems = []
    for pattern, program in PAGES.items():
        code = read(os.path.join(root, program))
        blocks = [(os.path.relpath(page, root), block) for page in sorted(glob.glob(os.path.join(root, pattern)))
                  for block in BLOCK.findall(read(page))]
        if not blocks:
            problems.append(f"{pattern} has no code")
        problems += [f"{page}: not compiled: {block.splitlines()[0]}" for page, block in blocks if block not in code]
    return problems


def ends_of_paths(root):
    """Whatever may stand for a file or folder of the tree: the end of its path, with or without the file's ending."""
    ends = set()
    for file in project_files(root):
        parts = file.split("/")
        for last in range(1, len(parts) + 1):
            for first in range(last):
                end = "/".join(parts[first:last])
                ends |= {end, re.sub(r"\.(h|cpp|proto|py)$", "", end)}
    return ends


def check_paths(root):
    """Returns one line per file or folder that a page names and the tree does not have."""
    problems, ends = [], ends_of_paths(root)
    for page in [os.path.join(root, "README.md")] + sorted(glob.glob(os.path.join(root, "docs/*.md"))):
        name = os.path.relpath(page, root)
        if name in PATHS_OF_OTHERS:
            continue
        for number, line in enumerate(read(page).split("\n"), 1):
            problems += [f"{name}:{number}: there is no {path}" for path in NAMED_PATH.findall(line)
                         if not NOT_IN_THE_TREE.match(path) and path.rstrip("/") not in ends]
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1]) + check_paths(sys.argv[1])
    print("\n".join(found) if found else "the code in the docs is compiled, and the files they name are there")
    sys.exit(1 if found else 0)
