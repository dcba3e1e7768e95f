"""The check of the docs must catch code that nothing compiles and files that are not there."""

import os
import tempfile
import unittest

import check_docs

PIECE = "int twice(int x) {\n  return 2 * x;\n}\n"


def write(root, path, text):
    os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(text)


class CheckDocs(unittest.TestCase):
    def tree(self, page="", intro="", readme=""):
        """A small project whose two programs hold PIECE."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        code = f"```cpp\n{PIECE}```\n"
        write(folder.name, "README.md", readme)
        write(folder.name, "docs/extending.md", page or code)
        write(folder.name, "tools/reference_lib/intros/models.md", intro or code)
        write(folder.name, "framework/ops/math.h", "")
        for program in check_docs.PAGES.values():
            write(folder.name, program, f"#include <x>\n{PIECE}\nint main() {{}}\n")
        return folder.name

    def test_code_that_is_compiled_passes(self):
        self.assertEqual(check_docs.check(self.tree()), [])

    def test_code_that_differs_from_its_program_is_named(self):
        other = "```cpp\n" + PIECE.replace("2", "3") + "```\n"
        self.assertEqual(check_docs.check(self.tree(page=other)), ["docs/extending.md: not compiled: int twice(int x) {"])
        self.assertEqual(check_docs.check(self.tree(intro=other)),
                         ["tools/reference_lib/intros/models.md: not compiled: int twice(int x) {"])

    def test_a_page_that_has_lost_its_code_is_named(self):
        self.assertEqual(check_docs.check(self.tree(page="Only words.\n")), ["docs/extending.md has no code"])

    def test_files_that_are_there_may_be_named_by_the_end_of_their_paths(self):
        text = "`framework/ops/math.h`, `ops/math`, `framework/ops/`, `build/bin/x_test`, `framework/kernels/cpu/x.cpp`\n"
        self.assertEqual(check_docs.check_paths(self.tree(readme=text)), [])

    def test_a_file_that_is_not_there_is_named_with_its_line(self):
        found = check_docs.check_paths(self.tree(readme="first\nsee `framework/ops/gone.h`\n"))
        self.assertEqual(found, ["README.md:2: there is no framework/ops/gone.h"])


if __name__ == "__main__":
    unittest.main()
