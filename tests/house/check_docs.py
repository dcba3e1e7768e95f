"""Checks that the code in docs/extending.md is the code that tests/contract compiles.

Usage: check_docs.py ROOT
"""

import os
import re
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def check(root):
    """Returns the first line of every block of code that stands in the page and not in the program."""
    with open(os.path.join(root, "docs/extending.md"), encoding="utf-8") as page:
        blocks = BLOCK.findall(page.read())
    with open(os.path.join(root, "tests/contract/program_extending.cpp"), encoding="utf-8") as program:
        code = program.read()
    if not blocks:
        return ["docs/extending.md has no code"]
    return [f"docs/extending.md: not compiled: {block.splitlines()[0]}" for block in blocks if block not in code]


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "the code in the docs is compiled")
    sys.exit(1 if found else 0)
