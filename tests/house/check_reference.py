"""Checks that public headers explain what they declare, and that docs/reference is what tools/reference makes of them.

Usage: check_reference.py ROOT
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))

from reference_lib import completeness, reference  # noqa: E402


def check(root):
    """Returns a line for each handle, argument, option or function without a comment, and for each stale page."""
    made = reference.Reference(root)
    return completeness.missing(made) + reference.stale(made)


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "the reference is complete and fits the headers")
    sys.exit(1 if found else 0)
