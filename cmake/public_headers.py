"""The headers a user may include: cohort.h and all it includes. Only these are installed; every other header is private.

Usage: public_headers.py ROOT, which prints one line per header, "framework/core/tensor.h core/tensor.h": where it is in
the tree, and where it is installed below cohort/.
"""

import os
import re
import sys

UMBRELLA = "framework/cohort.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def includes_of(root, path):
    """The line numbers, lines and names of what a file includes."""
    with open(os.path.join(root, path), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, line, match.group(1)


def file_of(root, included):
    """The file that "cohort/<room>/<file>" names, or None where the tree has none: it is generated."""
    if not included.startswith("cohort/"):
        return None
    name = included.removeprefix("cohort/")
    for path in ("framework/" + name, name):
        if os.path.isfile(os.path.join(root, path)):
            return path
    return None


def public_headers(root):
    """The closure of the umbrella header, as paths in the tree."""
    found, waiting = set(), [UMBRELLA]
    while waiting:
        path = waiting.pop()
        if path in found or not os.path.isfile(os.path.join(root, path)):
            continue
        found.add(path)
        waiting += filter(None, (file_of(root, included) for _, _, included in includes_of(root, path)))
    return found


if __name__ == "__main__":
    for header in sorted(public_headers(sys.argv[1])):
        print(header, header.removeprefix("framework/"))
