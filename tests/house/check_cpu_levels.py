"""Checks that what runs everywhere has no instructions of a level of the CPU, and that a level keeps to itself.

Objects of the library that are compiled for every processor must not use registers or instructions beyond the
architecture's baseline. The object of a level must define no global symbol, which the linker could take for code that
runs everywhere, and have no static initialisers that the loader would run.

Usage: check_cpu_levels.py LIST OBJDUMP: a file with one object a line, the levels' in a folder cpu_levels, and the
program that reads them.
"""

import os
import re
import subprocess
import sys

SKIPPED = 77

# What the disassembly of baseline code does not show, by the name objdump has for the format.
BEYOND_BASELINE = {
    "elf64-x86-64": re.compile(rb"%[yzt]mm\d+|%k[0-7]\b"),
    "elf64-littleaarch64": re.compile(rb"\b[z]\d+\.[bhsdq]\b|\tbf(?:mmla|dot|mlal[bt]|cvtn?2?)\b"),
}
FUNCTION = re.compile(rb"^[0-9a-f]+ <(.+)>:$", re.MULTILINE)
FORMAT = re.compile(rb"file format (\S+)")
# A symbol's line: its value, seven columns of flags, its section; "*UND*" is one that others define.
GLOBAL_SYMBOL = re.compile(r"^[0-9a-f]+ [gu!].{6} (?!\*UND\*)\S+\s+[0-9a-f]+\s+(.+)$", re.MULTILINE)
WEAK_SYMBOL = re.compile(r"^[0-9a-f]+ .w.{5} (?!\*UND\*)\S+\s+[0-9a-f]+\s+(.+)$", re.MULTILINE)
INITIALISERS = re.compile(r"\s(\.(?:init_array|ctors)\S*)\s")


def beyond_baseline(disassembly):
    """The first instruction of a level and the function it stands in, as text; None where there is none."""
    found_format = FORMAT.search(disassembly)
    pattern = BEYOND_BASELINE.get(found_format.group(1).decode()) if found_format else None
    match = pattern.search(disassembly) if pattern else None
    if match is None:
        return None
    function = None
    for function in FUNCTION.finditer(disassembly, 0, match.start()):
        pass
    line = disassembly[disassembly.rfind(b"\n", 0, match.start()) + 1:].split(b"\n", 1)[0].decode()
    return f"'{line.split(':', 1)[-1].strip()}' in {function.group(1).decode() if function else 'no function'}"


def level_problems(symbols, sections):
    """What is wrong with the object of a level, by objdump's lists of its symbols and its sections."""
    names = GLOBAL_SYMBOL.findall(symbols) + WEAK_SYMBOL.findall(symbols)
    problems = [f"defines the symbol {name} for others" for name in names]
    problems += [f"has the section {name}, which the loader would run" for name in INITIALISERS.findall(sections)]
    if not re.search(r"\scohort_cpu_level_\w+\s", sections):
        problems.append("has no section of static initialisers, so that its kernels are not known to the library")
    return problems


def read(objdump, option, path):
    return subprocess.run([objdump, option, "--no-show-raw-insn", path], capture_output=True, check=True).stdout


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as listing:
        objects = [path for path in listing.read().split() if path.endswith(".o") and os.path.exists(path)]
    if not objects:
        print("nothing is built yet: skipped")
        sys.exit(SKIPPED)
    failures = []
    for path in objects:
        if os.path.basename(os.path.dirname(path)) == "cpu_levels":
            listed = [read(sys.argv[2], option, path).decode() for option in ("-t", "-h")]
            failures += [f"{path}: {problem}" for problem in level_problems(*listed)]
        else:
            found = beyond_baseline(read(sys.argv[2], "-d", path))
            failures += [f"{path}: {found}"] if found else []
    print("\n".join(failures) if failures else f"{len(objects)} objects: nothing beyond the baseline")
    sys.exit(1 if failures else 0)
