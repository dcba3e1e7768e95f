"""Writes the pages of docs/reference as Markdown."""

import os
import re

from . import listing
from .comments import as_sentence, escape, paragraphs, sentences, split
from .declarations import Function, Record
from .headers import read
from .pages import HERE

FOLDER = "docs/reference"
NOTICE = "<!-- Made from the headers by tools/reference: change the headers, or tools/reference_lib/intros. -->"


def all_pages(selection, glossary):
    """{file name: text} of everything in docs/reference that is made by the script."""
    pages = {f"{name}.md": PageWriter(shown, selection, glossary).text() for name, shown in selection.pages.items()}
    pages["index.md"] = _index(selection)
    return pages


def _intro(name):
    """The hand-written beginning of a page; the pages of layers share one."""
    name = "layers" if name.startswith("layers-") else name
    return read(HERE, os.path.join("intros", f"{name}.md")).rstrip().splitlines()


def _index(selection):
    lines = []
    for name, shown in selection.pages.items():
        lines.append(f"- [{shown.page.title}]({name}.md): {shown.page.line}")
    text = "\n".join(_intro("index")).replace("{pages}", "\n".join(lines))
    return f"{NOTICE}\n{text}\n"


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def code(lines):
    return ["", "```cpp"] + lines + ["```", ""]


class PageWriter:
    def __init__(self, shown, selection, glossary):
        self.shown, self.page = shown, shown.page
        self.selection, self.glossary = selection, glossary
        self.titles = []
        self.first_use = {}  # of options that several handles take: the handle whose entry shows them
        self.common = {}  # names that the glossary explains: text -> names

    def text(self):
        body = self._handles() + self._sections() + self._common_options()
        contents = " · ".join(f"[{title}](#{anchor(title)})" for title in self.titles)
        lines = [NOTICE, f"# {self.page.title}", "", *_intro(self.page.name), "", contents, "", *body]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).rstrip()) + "\n"

    def _heading(self, level, title):
        self.titles.append(title)
        return ["", f"{'#' * level} {title}", ""]

    def _handles(self):
        namespaces = dict.fromkeys(handle.record.scope for handle in self.shown.handles)
        lines = []
        for namespace in namespaces:
            title = namespace[-1].capitalize()
            lines += ["", f"## {title}", ""] if len(namespaces) > 1 else []
            for handle in self.shown.handles:
                if handle.record.scope == namespace:
                    lines += self._handle(handle, 3 if len(namespaces) > 1 else 2)
        return lines

    def _handle(self, handle, level):
        prose, arguments = split(handle.comment)
        prefix = "ch::" + "::".join(handle.record.scope[1:] + (handle.name,))
        lines = self._heading(level, handle.name) + paragraphs(prose)
        block = []
        for constructor in handle.constructors:
            above, more = split(constructor.comment)
            arguments.update(more)
            text = listing.clean(constructor.text)
            call = prefix + text[text.index("("):]
            block += [f"// {line}" for line in above] + listing.template(constructor)
            block += listing.wrapped(call + ";")
        fresh = [(name, options) for name, options in handle.options if not self._shown_before(options, handle)]
        for name, options in fresh:
            block += [""] + listing.fields_only(listing.clean(name), options, self.selection)
        lines += code(block)
        positional = {p.name for c in handle.constructors for p in c.parameters if p.name and p.name != "options"}
        for name in dict.fromkeys(p.name for c in handle.constructors for p in c.parameters if p.name in positional):
            text = arguments.get(name) or self.glossary.find(name, handle.record.header)
            lines += [_bullet(name, text)] if text else []
        lines += self._options([options for _, options in fresh])
        for name, options in handle.options:
            if (name, options) not in fresh:
                first = self.first_use[options.qualified]
                lines.append(f"- `options`: those of [{first}](#{anchor(first)}).")
        return lines + self._methods(handle)

    def _shown_before(self, options, handle):
        """Whether a handle above has shown the same, large struct."""
        return len(options.fields) > 4 and self.first_use.setdefault(options.qualified, handle.name) != handle.name

    def _methods(self, handle):
        lines = []
        for base in handle.called_as:
            lines += ["", f"It is called as a [{base.name}](#{anchor(base.name)})."]
        if handle.methods:
            lines += code(listing.declarations(handle.methods, self.selection))
        if handle.body_methods:
            lines += ["", "Behind `->`:"] + code(listing.declarations(handle.body_methods, self.selection))
        return lines

    def _options(self, records):
        """A line for each field that has its own, and the names of those that the glossary explains."""
        lines, common = [], []
        for declared in records:
            for field in self.selection.fields(declared):
                prose = sentences(field.comment)
                if prose.startswith("or "):  # the default and what else there is
                    prose = f"`{field.default}` {prose}"
                known = "" if prose else self.glossary.find(field.name, field.header)
                if prose:
                    lines.append(_bullet(field.name, prose))
                elif known:
                    common.append(field.name)
                    self.common.setdefault(known, set()).add(field.name)
        if common:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(common))
            lines.append(f"- {names}: see [common options](#common-options).")
        return lines

    def _common_options(self):
        if not self.common:
            return []
        lines = self._heading(2, "Common options")
        for names, text in sorted((sorted(names), text) for text, names in self.common.items()):
            lines.append(f"- {', '.join(f'`{name}`' for name in names)}: {escape(as_sentence(text))}")
        return lines

    def _sections(self):
        """What is not a handle, header by header."""
        headers = dict.fromkeys(declared.header for declared in self.shown.others)
        lines = []
        if self.shown.handles:
            functions = [d for d in self.shown.others if isinstance(d, Function)]
            for declared in self.shown.others:
                if isinstance(declared, Record):
                    lines += self._heading(2, declared.name) + self._record(declared)
            rest = [d for d in self.shown.others if not isinstance(d, (Record, Function))]
            lines += (self._heading(2, "Types") + self._listing(rest)) if rest else []
            return lines + ((self._heading(2, "Functions") + self._listing(functions)) if functions else [])
        for header in headers:
            lines += self._section(header, [d for d in self.shown.others if d.header == header])
        return lines

    def _section(self, header, declared):
        records = [d for d in declared if isinstance(d, Record)]
        rest = [d for d in declared if not isinstance(d, Record)]
        if self.page.inline:
            return self._heading(2, section_title(header)) + self._listing(declared)
        main, title = main_record(header, records), section_title(header)
        title = next((d.name for d in declared if is_named_after(header, d)), main.name if main else title)
        lines = self._heading(2, title) + (self._record(main) if main else [])
        lines += self._listing(rest) if rest else []
        for record in records:
            if record is not main:
                lines += ["", f"### {record.name}", ""] + self._record(record)
        return lines

    def _record(self, record):
        prose, arguments = split(record.comment)
        lines, bullets = paragraphs(prose), [_bullet(name, text) for name, text in arguments.items()]
        members = self.selection.members(record)
        if not members:
            return lines + bullets
        if all(member in record.fields for member in members):
            return lines + code(listing.fields_only(record.name, record, self.selection)) + self._options([record])
        return lines + code(listing.record(record, self.selection, with_comment=False)) + bullets

    def _listing(self, declared):
        lines, namespace = [], ("cohort",)
        for scope in dict.fromkeys(d.scope for d in declared):
            run = [d for d in declared if d.scope == scope]
            if scope != namespace:
                lines += [""] * bool(lines) + [f"// in ch::{'::'.join(scope[1:])}"]
            lines += [""] * (bool(lines) and not lines[-1].startswith("// in ch")) + \
                listing.declarations(run, self.selection)
        return code(lines)


def section_title(header):
    """framework/ops/random_ops.h is "Random ops"."""
    return os.path.splitext(os.path.basename(header))[0].replace("_", " ").capitalize()


def is_named_after(header, declared):
    """Whether a header is that of a class: symbolic_tensor.h of SymbolicTensor."""
    return section_title(header).replace(" ", "").lower() == declared.name.lower()


def main_record(header, records):
    """The class that a header is about: the one it is named after, or the only one beside options."""
    classes = [record for record in records if not record.name.endswith("Options")]
    named = [record for record in records if is_named_after(header, record)]
    return named[0] if named else classes[0] if len(classes) == 1 else None


def _bullet(name, text):
    return f"- `{name}`: {escape(as_sentence(text))}"


