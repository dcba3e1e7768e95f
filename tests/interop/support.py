"""Shared by the tests against the real Keras and TensorBoard: runs the C++ side."""
import os
import subprocess

BUILD = os.environ.get("COHORT_BUILD_DIR", os.path.join(os.path.dirname(__file__), "..", "..", "build"))


def cohort(*arguments):
    """Runs build/bin/tests/interop; its own message is the failure's."""
    done = subprocess.run([os.path.join(BUILD, "bin", "tests", "interop"), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(name):
    """The path of build/bin/<name>, or None where it was not built."""
    path = os.path.join(BUILD, "bin", name)
    return path if os.path.exists(path) else None
