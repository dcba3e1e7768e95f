"""What a header declares, as the scanner finds it and the pages show it."""

from dataclasses import dataclass, field


@dataclass
class Declaration:
    name: str
    scope: tuple          # names of the namespaces and classes around it
    header: str           # its path from the project's root
    line: int
    last_line: int
    text: str             # as the header has it, without a body
    template: str = ""    # "template <class T>"
    comment: list = field(default_factory=list)  # lines of its own comment, above or behind it
    behind: list = field(default_factory=list)   # those of them that stand behind it
    block: list = field(default_factory=list)    # the comment above the lines that it stands in without a gap
    after_blank: bool = True
    access: str = "public"

    @property
    def qualified(self):
        """Its name behind cohort::, as in "layers::Dense"."""
        return "::".join(self.scope[1:] + (self.name,))

    @property
    def documented(self):
        return bool(self.comment or self.block)


@dataclass
class Parameter:
    type: str
    name: str     # empty where the header gives none
    default: str  # empty where there is none


@dataclass
class Function(Declaration):
    parameters: list = field(default_factory=list)
    flags: frozenset = frozenset()  # of "virtual", "override", "static", "default", "delete", "friend"

    @property
    def is_constructor(self):
        return bool(self.scope) and self.name == self.scope[-1]

    @property
    def is_special(self):
        """What the compiler would make or forbids: no line is needed."""
        return self.name[0] == "~" or self.name == "operator=" or bool(self.flags & {"default", "delete", "friend"})


@dataclass
class Field(Declaration):
    type: str = ""
    default: str = ""
    is_constant: bool = False


@dataclass
class Alias(Declaration):
    target: str = ""


@dataclass
class Macro(Declaration):
    pass


@dataclass
class Enum(Declaration):
    values: list = field(default_factory=list)  # (name, comment lines)


@dataclass
class Record(Declaration):
    """A struct or class with what it declares in turn."""
    keyword: str = "class"
    bases: list = field(default_factory=list)  # as written, without access
    members: list = field(default_factory=list)

    def of_kind(self, kind, access=("public",)):
        return [member for member in self.members if isinstance(member, kind) and member.access in access]

    @property
    def fields(self):
        return self.of_kind(Field)

    @property
    def constructors(self):
        return [f for f in self.of_kind(Function) if f.is_constructor and not f.is_special]
