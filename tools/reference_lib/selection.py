"""Chooses what each page shows: handles with options and methods, classes, functions, the types these mention."""

from dataclasses import dataclass, field

from .declarations import Alias, Function, Macro, Record
from .headers import room_of
from .library import TEMPLATE, plain_type
from .pages import PAGES, LeftOut, page_of


@dataclass
class Handle:
    """What a user writes to make an object: its constructors, their options, its methods."""
    name: str
    record: Record
    body: Record
    comment: list
    constructors: list
    options: list                                  # (the struct's name in the constructor, the Record)
    called_as: list = field(default_factory=list)  # the handle templates that say how it is called
    methods: list = field(default_factory=list)    # of the handle
    body_methods: list = field(default_factory=list)  # behind ->


@dataclass
class Shown:
    """The content of one page."""
    page: object
    handles: list = field(default_factory=list)
    others: list = field(default_factory=list)  # declarations, in the page's order


class Selection:
    def __init__(self, library):
        self.library = library
        self.left_out = LeftOut()
        self.pages = {}
        self._candidates = []  # types that are shown when something mentions them
        for declared in library.declarations:
            page = page_of(declared)
            if declared.qualified not in self.left_out and page:
                self._place(declared, self.pages.setdefault(page.name, Shown(page)))
        self._add_mentioned()
        for shown in self.pages.values():
            shown.handles.sort(key=lambda handle: handle.name.lower())
            shown.others = _in_order(shown)
        order = [page.name for page in PAGES]
        self.pages = dict(sorted(self.pages.items(), key=lambda item: (
            order.index(item[0]) if item[0] in order else 0.5, item[0])))

    def _place(self, declared, shown):
        library = self.library
        if isinstance(declared, Record) and library.is_handle(declared):
            shown.handles.append(self._handle(declared.name, declared, declared.comment))
        elif isinstance(declared, Alias) and library.handle_template_of(declared):
            template = library.handle_template_of(declared)
            shown.handles.append(self._handle(declared.name, template, declared.comment or template.comment))
        elif isinstance(declared, Function) and not shown.page.shows_functions:
            return
        elif declared.qualified in library.body_names or declared.qualified in library.bodies:
            return
        elif shown.page.handles_only and not isinstance(declared, (Function, Macro)) and \
                declared.name not in shown.page.names:
            self._candidates.append((declared, shown))
        else:
            shown.others.append(declared)

    def _handle(self, name, record, comment):
        library = self.library
        constructors = [c for c in record.constructors if c.parameters or len(record.constructors) == 1]
        options = {}
        for constructor in constructors:
            found = library.options_of(constructor)
            if found:
                parameter = next(p for p in constructor.parameters if p.name == "options")
                options[plain_type(parameter.type)] = found
        body = library.bodies[record.qualified]
        methods = self._methods(record)
        # RnnHandle and the like, not Ref or a family's own Handle
        called_as = [b for b in library.bases_of(record) if b.name.endswith("Handle") and b.name != "Handle"]
        own = {method.name for method in methods}
        behind = [method for each in [body] + library.bases_of(body) if each.qualified != library.family_of(body) and
                  each.scope[1:] for method in self._methods(each) if method.name not in own and
                  "virtual" not in method.flags]
        return Handle(name, record, body, comment, constructors, list(options.items()), called_as, methods,
                      _unique(behind))

    def _methods(self, record):
        """The public methods of a class that are its own, not those it overrides."""
        return [f for f in record.of_kind(Function) if not f.is_constructor and not f.is_special and
                "override" not in f.flags and f.qualified not in self.left_out and not self._needs_what_is_left_out(f)]

    def fields(self, record):
        """What a user may set in an options struct."""
        return [f for f in record.fields if f.qualified not in self.left_out]

    def members(self, record):
        """What a listing of a class shows: what is not private, overrides only where they have a comment."""
        return [m for m in record.members if m.access != "private" and m.qualified not in self.left_out and
                not (isinstance(m, Function) and (m.is_special or "override" in m.flags and not m.comment or
                                                  self._needs_what_is_left_out(m)))]

    def bases(self, record):
        """The base classes that a listing names: those that a page shows, and exceptions of the standard library."""
        shown = {declared.qualified for page in self.pages.values() for declared in page.others}
        found = {base: self.library.find(TEMPLATE.sub(r"\1", base), record.scope) for base in record.bases}
        return [base for base, declared in found.items()
                if (declared.qualified in shown if declared else base.startswith("std::runtime"))]

    def _needs_what_is_left_out(self, function):
        return any(found.qualified in self.left_out for parameter in function.parameters
                   for found in self.library.mentioned(parameter.type, function.scope))

    def _texts(self, shown):
        """(code, scope) of all that a page's entries mention."""
        for handle in shown.handles:
            yield from ((base.name, base.scope) for base in handle.called_as)
            for function in handle.constructors + handle.methods + handle.body_methods:
                yield function.text, function.scope
            for _, options in handle.options:
                yield from ((f.type, options.scope) for f in self.fields(options))
        for declared in shown.others:
            yield declared.text, declared.scope
            if isinstance(declared, Record):
                yield from ((m.text, m.scope) for m in self.members(declared))

    def _add_mentioned(self):
        consumed = {o.qualified for s in self.pages.values() for h in s.handles for _, o in h.options}
        consumed |= {a.qualified for a, _ in self._candidates if isinstance(a, Alias) and
                     (self.library.find_record(a.name, a.scope) or a).qualified in consumed}
        while True:
            mentioned = {d.qualified for shown in list(self.pages.values()) for text, scope in self._texts(shown)
                         for d in self.library.mentioned(text, scope)}
            new = [(d, s) for d, s in self._candidates if d.qualified in mentioned - consumed]
            if not new:
                return
            for declared, shown in new:
                shown.others.append(declared)
            self._candidates = [c for c in self._candidates if c not in new]


def _unique(methods):
    seen = {}
    for method in methods:
        seen.setdefault(method.text, method)
    return list(seen.values())


def _in_order(shown):
    """Declarations by header: those with names that the page lists, then those of its rooms, as they stand."""
    names, rooms, rank = shown.page.names, shown.page.rooms, {}
    for declared in shown.others:
        place = names.index(declared.name) if declared.name in names else len(names)
        rank[declared.header] = min(rank.get(declared.header, place), place)
    return sorted(shown.others, key=lambda d: (rank[d.header], room_of(d.header) not in rooms, d.header, d.line))
