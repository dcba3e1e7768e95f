"""Lists the files of the project: what git tracks or would track, or the folder's files where there is no git."""

import os
import subprocess

IGNORED_FOLDERS = {".git", ".cache", "__pycache__", "sysroot", "logs"}


def project_files(root):
    """Returns the paths, relative to root and sorted, of all files that belong to the project."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.split("\0") if name]
    else:
        names = list(_walk(root))
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def _walk(root):
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in IGNORED_FOLDERS and not name.startswith("build")]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def cpp_files(root):
    """Returns those of project_files that are C++ or CUDA."""
    return [name for name in project_files(root) if name.endswith((".h", ".cpp", ".cu", ".cuh"))]
