"""The reference as a whole: made, written, and compared with what the headers would give now."""

import os

from .glossary import Glossary
from .headers import read
from .library import Library
from .selection import Selection
from .writer import FOLDER, all_pages


class Reference:
    def __init__(self, root):
        self.root = root
        self.library = Library(root)
        self.selection = Selection(self.library)
        self.glossary = Glossary(root)
        self.pages = all_pages(self.selection, self.glossary)


def write(root):
    """Writes all pages and removes those that there are no more; how many there are."""
    pages = Reference(root).pages
    folder = os.path.join(root, FOLDER)
    for name in existing(root):
        if name not in pages:
            os.remove(os.path.join(folder, name))
    for name, text in pages.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return len(pages)


def existing(root):
    return sorted(name for name in os.listdir(os.path.join(root, FOLDER)) if name.endswith(".md"))


def stale(reference):
    """A line for each page that differs from what would be written now."""
    there, pages = existing(reference.root), reference.pages
    problems = [f"{FOLDER}/{name}: no header needs it. Run tools/reference." for name in there if name not in pages]
    for name, text in pages.items():
        if name not in there or read(reference.root, os.path.join(FOLDER, name)) != text:
            problems.append(f"{FOLDER}/{name}: the headers say something else. Run tools/reference.")
    return problems
