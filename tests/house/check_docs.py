"""Checks that the C++ in docs/extending.md and in the intros of docs/reference is what tests/contract compiles.

Usage: check_docs.py ROOT
"""

import glob
import os
import re
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Pages and the program that holds their code.
PAGES = {
    "docs/extending.md": "tests/contract/program_extending.cpp",
    "tools/reference_lib/intros/*.md": "tests/contract/program_reference.cpp",
}


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


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "the code in the docs is compiled")
    sys.exit(1 if found else 0)
