"""Checks that all C++ is formatted as .clang-format says.

Usage: check_format.py ROOT [--fix]

Only version 14 is asked, the one tools/setup installs: another lays the same code out differently.
"""

import re
import shutil
import subprocess
import sys

from sources import cpp_files

VERSION = 14
SKIPPED = 77


def find_clang_format():
    """Returns the program of the wanted version, or None."""
    for name in [f"clang-format-{VERSION}", "clang-format"]:
        program = shutil.which(name)
        if program:
            text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"version {VERSION}\.", text):
                return program
    return None


if __name__ == "__main__":
    root = sys.argv[1]
    clang_format = find_clang_format()
    if clang_format is None:
        print(f"clang-format {VERSION} is not installed: skipped. Run tools/setup.")
        sys.exit(SKIPPED)
    files = cpp_files(root)
    if not files:
        print("there is no C++ to check")
        sys.exit(0)
    if "--fix" in sys.argv:
        sys.exit(subprocess.run([clang_format, "-i", *files], cwd=root, check=False).returncode)
    result = subprocess.run([clang_format, "--dry-run", "-Werror", *files], cwd=root, capture_output=True, text=True, check=False)
    unformatted = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", result.stderr, re.MULTILINE)))
    print("\n".join(f"{name}: not formatted. Run tools/format." for name in unformatted) or result.stderr
          or f"{len(files)} files are formatted")
    sys.exit(result.returncode)
