"""Finds what the pages show and no line explains."""

import re

from .comments import split
from .declarations import Enum, Function, Record
from .pages import PAGES

# A layer's comment tells the shapes: "Input (batch, features), output (batch, units)."
SHAPES = re.compile(r"\bInputs?\b.*\boutputs?\b", re.IGNORECASE)


class Completeness:
    def __init__(self, reference):
        self.library, self.selection = reference.library, reference.selection
        self.glossary = reference.glossary
        self.problems = []
        self.explained = set()  # functions with a comment: their overloads need none
        for declared in self.library.declarations:
            self._note_explained(declared)

    def _note_explained(self, declared):
        if isinstance(declared, Function) and declared.documented:
            self.explained.add(declared.qualified)
        if isinstance(declared, Record):
            for member in declared.members:
                self._note_explained(member)

    def missing(self):
        """A line for each thing without one, by file."""
        for shown in self.selection.pages.values():
            for handle in shown.handles:
                self._handle(handle)
            for declared in shown.others:
                self._declared(declared)
        return sorted(set(self.problems)) + self._leftovers()

    def _report(self, declared, what):
        self.problems.append(f"{declared.header}:{declared.line}: {what}")

    def _handle(self, handle):
        record = handle.record
        prose, arguments = split(handle.comment)
        if not any(line.strip() for line in prose):
            self._report(record, f"{handle.name} has no comment that says what it is")
        elif self.library.family_of(handle.body) == "Layer" and not SHAPES.search(" ".join(prose)):
            self._report(record, f"{handle.name} does not tell its shapes: \"Input (...), output (...).\"")
        for constructor in handle.constructors:
            own = split(constructor.comment)
            for parameter in constructor.parameters:
                if parameter.name in ("", "options") or parameter.name in arguments or parameter.name in own[1] or \
                        own[0] or self.glossary.find(parameter.name, record.header):
                    continue
                self._report(record, f"{handle.name}: the argument '{parameter.name}' has no line")
        for _, options in handle.options:
            self._fields(options)
        for method in handle.methods + handle.body_methods:
            self._function(method)

    def _fields(self, record):
        fields = self.selection.fields(record)
        for first, second in zip(fields, fields[1:]):
            if second.comment and second.default and (first.header, first.line) == (second.header, second.line):
                self._report(second, f"{record.name}::{first.name} and {second.name} share one comment: a line for each")
        for field in fields:
            is_result = record.comment and not field.default  # nobody sets it
            if not field.comment and not is_result and not self.glossary.find(field.name, field.header):
                self._report(field, f"the option {record.name}::{field.name} has no line")

    def _function(self, function):
        accessor = not function.parameters and "const" in function.flags  # its name says what it gives
        if function.qualified not in self.explained and not function.is_constructor and not accessor and \
                not function.name.startswith("operator"):
            self._report(function, f"the function {function.qualified} has no comment")

    def _declared(self, declared):
        if isinstance(declared, Function):
            self._function(declared)
        elif isinstance(declared, Enum) and not declared.documented:
            self._report(declared, f"{declared.qualified} has no comment")
        elif isinstance(declared, Record):
            members = self.selection.members(declared)
            if all(member in declared.fields for member in members):
                self._fields(declared)
            elif not declared.comment:
                self._report(declared, f"{declared.qualified} has no comment")
            for member in members:
                if isinstance(member, Function) and "override" not in member.flags:
                    self._function(member)

    def _leftovers(self):
        """Lines of the lists that name nothing."""
        names = {declared.name for declared in self.library.declarations}
        problems = [f"tools/reference_lib/left_out.txt: nothing is called {pattern}"
                    for pattern in self.selection.left_out.unused()]
        return problems + [f"tools/reference_lib/pages.py: the page {page.name} lists {name}, which no header declares"
                           for page in PAGES for name in page.names if name not in names]


def missing(reference):
    return Completeness(reference).missing()
