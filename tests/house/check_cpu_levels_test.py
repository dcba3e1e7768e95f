"""Tests of check_cpu_levels.py."""

import unittest

from check_cpu_levels import beyond_baseline, level_problems

X86 = b"""
a.o:     file format elf64-x86-64

0000000000000000 <scale>:
   0:\tmovups (%rdi),%xmm0
0000000000000010 <add>:
  10:\t"""
ARM = b"""
a.o:     file format elf64-littleaarch64

0000000000000000 <scale>:
   0:\tfmla\tv0.4s, v1.4s, v2.4s
   4:\t"""
SECTIONS = """
  0 .text         00000080  0000000000000000  0000000000000000  00000040  2**4
  1 cohort_cpu_level_avx2 00000080  0000000000000000  0000000000000000  00000040  2**3
"""


class BeyondBaseline(unittest.TestCase):
    def test_the_baseline_of_x86_is_sse2(self):
        self.assertIsNone(beyond_baseline(X86 + b"addps %xmm1,%xmm0\n"))
        self.assertEqual(beyond_baseline(X86 + b"vaddps %ymm1,%ymm0,%ymm0\n"), "'vaddps %ymm1,%ymm0,%ymm0' in add")
        self.assertIn("in add", beyond_baseline(X86 + b"vaddps %zmm1,%zmm0,%zmm0\n"))
        self.assertIn("in add", beyond_baseline(X86 + b"tdpbf16ps %tmm1,%tmm2,%tmm0\n"))

    def test_the_baseline_of_arm_is_neon(self):
        self.assertIsNone(beyond_baseline(ARM + b"ldr\tq0, [x0]\n"))
        self.assertEqual(beyond_baseline(ARM + b"fadd\tz0.s, z0.s, z1.s\n"), "'fadd\tz0.s, z0.s, z1.s' in scale")
        self.assertIn("in scale", beyond_baseline(ARM + b"bfmmla\tv0.4s, v1.8h, v2.8h\n"))
        self.assertIn("in scale", beyond_baseline(ARM + b"bfcvtn\tv0.4h, v1.4s\n"))


class LevelProblems(unittest.TestCase):
    def test_local_and_undefined_symbols_are_fine(self):
        symbols = ("0000000000000000 l     F .text\t0000000000000010 scale\n"
                   "0000000000000000         *UND*\t0000000000000000 memcpy\n"
                   "0000000000000000 g       *UND*\t0000000000000000 malloc\n")
        self.assertEqual(level_problems(symbols, SECTIONS), [])

    def test_what_others_could_link_is_not(self):
        for flags in ("g     F", " w    F", "u     O"):
            problems = level_problems(f"0000000000000000 {flags} .text\t0000000000000010 scale\n", SECTIONS)
            self.assertEqual(problems, ["defines the symbol scale for others"])

    def test_the_loader_must_find_no_initialisers_and_the_library_some(self):
        text = SECTIONS.replace("cohort_cpu_level_avx2", ".init_array.00100")
        self.assertEqual(len(level_problems("", text)), 2)


if __name__ == "__main__":
    unittest.main()
