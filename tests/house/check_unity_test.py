"""The check of file-local names must find what two sources would mix up, and nothing else."""

import os
import tempfile
import unittest

import check_unity


class CheckUnity(unittest.TestCase):
    def problems_in(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check_unity.check(root)

    def local(self, code):
        return f"namespace cohort {{\nnamespace {{\n\n{code}\n\n}}  // namespace\n}}  // namespace cohort\n"

    def test_equal_names_in_one_room_are_named_with_both_places(self):
        for first, second in [
            ("int count(int x) {\n  return x;\n}", "std::string count(const std::string& x, int y) { return x; }"),
            ("class Clock {\n};", "using Clock = std::chrono::steady_clock;"),
            ("constexpr int kSize = 1;", "const std::string kSize = {};"),
            ("constexpr int kRows = 2, kSize = 1;", "constexpr int kSize = 1;"),
            ("constexpr Seconds kShort{1}, kLong{2};", "constexpr Seconds kLong{2};"),
            ("Scratch rows, sums;", "Scratch sums;"),
        ]:
            problems = self.problems_in({"layers/core/a.cpp": self.local(first), "layers/merging/b.cpp": self.local(second)})
            self.assertEqual(len(problems), 1, first)
            self.assertIn("layers/core/a.cpp:4", problems[0])
            self.assertIn("layers/merging/b.cpp:4", problems[0])

    def test_kernels_of_a_gpu_are_compiled_together(self):
        same = self.local("int count(int x) { return x; }")
        self.assertEqual(len(self.problems_in({"framework/kernels/cuda/a.cu": same, "framework/kernels/cuda/b.cu": same})), 1)
        body = self.local("template <template <class, int> class Body, class T>\nvoid run() {}")
        other = body.replace("run", "walk")
        self.assertEqual(self.problems_in({"framework/kernels/cuda/a.cu": body, "framework/kernels/cuda/b.cu": other}), [])

    def test_a_static_function_is_local_too(self):
        problems = self.problems_in({"callbacks/a.cpp": "static int one() { return 1; }\n",
                                     "callbacks/b.cpp": "static int one() { return 2; }\n"})
        self.assertEqual(len(problems), 1)

    def test_what_cannot_meet_is_left_alone(self):
        same = self.local("int count(int x) { return x; }")
        self.assertEqual(self.problems_in({"layers/core/a.cpp": same, "callbacks/b.cpp": same}), [])
        self.assertEqual(self.problems_in({"framework/kernels/cpu/a.cpp": same, "framework/kernels/cpu/reduce.cpp": same}), [])
        alias = self.local("using Sizes = std::vector<std::int64_t>;")
        self.assertEqual(self.problems_in({"layers/core/a.cpp": alias, "layers/core/b.cpp": alias}), [])
        calls = self.local("int f() {\n  return g(1);\n}")
        others = self.local("int h() {\n  return g(1);\n}")
        self.assertEqual(self.problems_in({"layers/core/a.cpp": calls, "layers/core/b.cpp": others}), [])

    def test_a_macro_is_taken_back(self):
        self.assertEqual(len(self.problems_in({"layers/core/a.cpp": "#define ROW(x) x\n"})), 1)
        self.assertEqual(self.problems_in({"layers/core/a.cpp": "#define ROW(x) x\n#undef ROW\n"}), [])


if __name__ == "__main__":
    unittest.main()
