"""Checks that no file of the project names a folder of one particular machine.

Usage: check_paths.py ROOT
"""

import os
import re
import sys

from sources import project_files

# Folders that exist on somebody's machine only, at the start of an absolute path.
MACHINE_PATH = re.compile(rb"(?<![\w.$}\)-])/(?:work|farm|root|home|Users|mnt|scratch)/[\w.]")


def check(root):
    """Returns one line per machine path in the text files of the project."""
    problems = []
    for path in project_files(root):
        with open(os.path.join(root, path), "rb") as stream:
            content = stream.read()
        if b"\0" in content[:8192]:
            continue
        for number, line in enumerate(content.splitlines(), 1):
            if MACHINE_PATH.search(line):
                problems.append(f"{path}:{number}: {line.decode(errors='replace').strip()}")
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "no machine paths")
    sys.exit(1 if found else 0)
