"""The glossary: options that mean the same wherever they stand are explained once, in docs/reference/glossary.txt.

A line is `name: text`; `*_initializer` stands for all names that end so; `losses name` holds in that namespace or room
alone, `layers/recurrent name` in that folder alone. The most particular line counts. # begins a comment.
"""

from fnmatch import fnmatchcase

from .headers import read

PATH = "docs/reference/glossary.txt"


class Glossary:
    def __init__(self, root):
        self.lines = []  # (family, pattern, text), the most particular first
        for number, line in enumerate(read(root, PATH).splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            head, colon, text = line.partition(": ")
            words = head.split()
            if not colon or len(words) not in (1, 2):
                raise ValueError(f"{PATH}:{number}: a line is `name: text` or `family name: text`")
            family = words[0] if len(words) == 2 else ""
            self.lines.append((family, words[-1], text.strip()))
        self.lines.sort(key=lambda line: (-len(line[0]), "*" in line[1]))

    def find(self, name, header):
        """What a name means in a header, or nothing."""
        for family, pattern, text in self.lines:
            if fnmatchcase(name, pattern) and (not family or f"/{family}/" in f"/{header}"):
                return text
        return ""
