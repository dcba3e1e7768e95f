"""All that the public headers declare, and how it hangs together: handles, their bodies, their options."""

import re

from .declarations import Alias, Enum, Field, Function, Macro, Record
from .headers import public_headers
from .scanner import scan

# Classes that users derive from; handles are objects of these families.
FAMILIES = ("Layer", "Loss", "Metric", "Optimizer", "LearningRateSchedule", "Initializer", "Regularizer", "Constraint",
            "Activation", "Callback", "TensorFunction")
TEMPLATE = re.compile(r"([\w:]+)<(.*)>")
NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")


class Library:
    def __init__(self, root):
        self.root = root
        self.declarations = []
        for path, text in public_headers(root).items():
            try:
                self.declarations += [d for d in scan(text, path) if d.scope[:1] == ("cohort",)]
            except (ValueError, IndexError) as error:
                raise ValueError(f"{path}: this is not understood: {error}") from error
        self.declarations = [d for d in self.declarations if "detail" not in d.scope]
        self.by_name = {}
        self._index(self.declarations)
        self.bodies = {}  # of handles, by the handle's qualified name
        for record in self.records():
            body = self._body_of(record)
            if body:
                self.bodies[record.qualified] = body
        self.body_names = {body.qualified for body in self.bodies.values()}

    def _index(self, declarations):
        for declared in declarations:
            if isinstance(declared, (Record, Alias, Enum, Field, Macro)):
                self.by_name.setdefault(declared.qualified, declared)
            if isinstance(declared, Record):
                self._index(declared.members)

    def records(self):
        return [d for d in self.declarations if isinstance(d, Record)]

    def functions(self):
        return [d for d in self.declarations if isinstance(d, Function)]

    def find(self, name, scope):
        """The declaration that a name means in a scope, or None."""
        name = name.removeprefix("cohort::")
        inner = list(scope[1:])
        while True:
            found = self.by_name.get("::".join(inner + [name]))
            if found or not inner:
                return found
            inner.pop()

    def find_record(self, name, scope):
        """The same through aliases, for a name without template arguments."""
        found = self.find(name, scope)
        for _ in range(4):
            if not isinstance(found, Alias):
                break
            found = self.find(TEMPLATE.sub(r"\1", found.target), found.scope)
        return found if isinstance(found, Record) else None

    def bases_of(self, record):
        """The classes it derives from, next ones first."""
        result = []
        for base in record.bases:
            found = self.find_record(TEMPLATE.sub(r"\1", base), record.scope)
            if found:
                result += [found] + self.bases_of(found)
        return result

    def family_of(self, record):
        """"Layer" for a class of layers, or None."""
        names = [record.qualified] + [base.qualified for base in self.bases_of(record)]
        return next((name for name in names if name in FAMILIES), None)

    def _body_of(self, record):
        for base in record.bases:
            match = TEMPLATE.fullmatch(base)
            if match and (match.group(1) == "Ref" or match.group(1).endswith("Handle")):
                return self.find_record(match.group(2), record.scope + (record.name,))
        return None

    def is_handle(self, declared):
        return declared.qualified in self.bodies and not declared.template

    def handle_template_of(self, alias):
        """The handle template that `using ConvLSTM1D = ConvLSTM<1>` names, or None."""
        match = TEMPLATE.fullmatch(alias.target)
        found = match and self.find_record(match.group(1), alias.scope)
        return found if found and found.template and found.qualified in self.bodies else None

    def options_of(self, function):
        """The options struct among a function's arguments, or None."""
        for parameter in function.parameters:
            if parameter.name == "options":
                return self.find_record(plain_type(parameter.type), function.scope)
        return None

    def mentioned(self, text, scope):
        """The declarations whose names occur in a piece of code."""
        return [found for found in (self.find(name, scope) for name in NAME.findall(text)) if found]


def plain_type(text):
    """Without const and reference."""
    return text.removeprefix("const ").rstrip("&").strip()
