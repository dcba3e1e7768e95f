"""The public headers: their list is that of cmake/public_headers.py, what a user's one include leads to."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../cmake"))
import public_headers as boundary  # noqa: E402


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def public_headers(root):
    """{path: text} of the public headers, sorted by path."""
    return {path: read(root, path) for path in sorted(boundary.public_headers(root))}


def room_of(path):
    """framework/core/x.h is in core, layers/core/x.h in layers."""
    parts = path.split("/")
    return parts[1] if parts[0] == "framework" and len(parts) > 2 else parts[0]
