"""The path check must catch machine paths and leave system paths alone."""

import os
import tempfile
import unittest

import check_paths


class CheckPaths(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "notes.md"), "w", encoding="utf-8") as notes:
                notes.write(text)
            return check_paths.check(root)

    def test_machine_paths_are_caught(self):
        for folder in ["home", "root", "Users", "work"]:
            self.assertEqual(len(self.problems(f'first\nopen("/{folder}/someone/data")\n')), 1, folder)

    def test_other_paths_pass(self):
        self.assertEqual(self.problems("/usr/share/datasets build/home/x ${ROOT}/work/x https://example.org/home/x\n"), [])


if __name__ == "__main__":
    unittest.main()
