"""C++ as pages show it: signatures without bodies, classes without what is private."""

from .declarations import Alias, Enum, Field, Function, Macro, Record

WIDTH = 110
DROPPED = ("inline ", "constexpr ")


def clean(text):
    """Without what only the compiler needs."""
    for word in DROPPED:
        text = text.replace(word, "")
    return text.replace("[[nodiscard]] ", "").replace("cohort::", "")


def signature(declared, indent=""):
    """The lines of a function, a field, an alias or a macro, up to its semicolon."""
    end = "" if isinstance(declared, Macro) else ";"
    text = clean(declared.text)
    if isinstance(declared, Field) and declared.is_constant:
        text = "constexpr " + text
    return [indent + line for line in template(declared)] + wrapped(text + end, indent)


def template(declared):
    """The line of a template's parameters, if it is one; a constraint of the library's own says nothing to a reader."""
    head, requires, constraint = declared.template.partition(" requires")
    return [head if "detail::" in constraint else head + requires + constraint] if head else []


def wrapped(text, indent=""):
    """A declaration in lines of at most WIDTH columns, cut behind the commas between its arguments."""
    if len(indent + text) <= WIDTH or "(" not in text:
        return [indent + text]
    pieces, start, depth = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "(<{") - (character in ")>}" and text[i - 1:i + 1] != "->")
        if character == "," and depth == 1:
            pieces.append(text[start:i + 1])
            start = i + 2
    pieces.append(text[start:])
    if len(pieces) == 1:
        return [indent + text]
    hanging = text.index("(") + 1
    hanging = hanging if max(len(piece) for piece in pieces[1:]) + hanging <= WIDTH else 4
    lines = [indent + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + 1 + len(piece) <= WIDTH:
            lines[-1] += " " + piece
        else:
            lines.append(indent + " " * hanging + piece)
    return lines


def documented(declared, indent=""):
    """A declaration's lines with its comment: above it, or behind it as the header has it."""
    above = declared.comment[:len(declared.comment) - len(declared.behind)]
    lines = [f"{indent}// {line}".rstrip() for line in above]
    code = enum_lines(declared, indent) if isinstance(declared, Enum) else signature(declared, indent)
    behind = " ".join(declared.behind)
    if behind and len(code[-1]) + 4 + len(behind) <= WIDTH + 10:
        code[-1] += "  // " + behind
    elif behind:
        lines += [f"{indent}// {line}" for line in declared.behind]
    return lines + code


def enum_lines(enum, indent=""):
    """An enum: in one line, or with a line for each value where one has a comment."""
    if not any(comment for _, comment in enum.values):
        return wrapped(f"enum class {enum.name} {{ {', '.join(name for name, _ in enum.values)} }};", indent)
    lines = [f"{indent}enum class {enum.name} {{"]
    for name, comment in enum.values:
        lines.append(f"{indent}  {name}," + (f"  // {' '.join(comment)}" if comment else ""))
    return lines + [indent + "};"]


def declarations(declared, selection, indent=""):
    """A run of declarations, with the gaps that the header has between them."""
    lines = []
    for each in declared:
        if lines and (each.after_blank or isinstance(each, Record)):
            lines.append("")
        if isinstance(each, Record):
            lines += record(each, selection, indent)
        elif isinstance(each, (Alias, Enum, Field, Function, Macro)):
            lines += documented(each, indent)
    return lines


def record(declared, selection, indent="", with_comment=True):
    """A class with its members; the comment of the class stands above it."""
    lines = [f"{indent}// {line}".rstrip() for line in declared.comment] if with_comment else []
    lines += [indent + line for line in template(declared)]
    bases = ", ".join(f"public {clean(base)}" for base in selection.bases(declared))
    lines.append(f"{indent}{declared.keyword} {declared.name}" + (f" : {bases}" if bases else "") + " {")
    members = selection.members(declared)
    shown = [access for access in ("public", "protected") if any(m.access == access for m in members)]
    for access in shown:
        if declared.keyword == "class" or access != "public":
            lines += [""] * (access == "protected" and len(shown) > 1) + [f"{indent} {access}:"]
        lines += declarations([m for m in members if m.access == access], selection, indent + "  ")
    return lines + [indent + "};"]


def fields_only(name, declared, selection):
    """An options struct as its users fill it: the fields in order, with their defaults."""
    lines = template(declared) + [f"struct {name} {{"]
    for field in selection.fields(declared):
        lines += wrapped(clean(field.text) + ";", "  ")
    return lines + ["};"]
