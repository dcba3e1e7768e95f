"""Comments of headers: what they say, which arguments they explain, and how they look in Markdown."""

import re

ARGUMENT = re.compile(r"  (\w+(?:, \w+)*): (.*)")
SHAPES = re.compile(r"(Inputs?|Outputs?)\b")


def split(lines):
    """(lines of prose, {argument: text}): arguments stand in lines of the form `  name: text`."""
    prose, arguments, current = [], {}, ()
    for line in lines:
        match = ARGUMENT.fullmatch(line)
        if match:
            current = match.group(1).split(", ")
            arguments.update({name: match.group(2) for name in current})
        elif current and line.startswith("    "):
            arguments.update({name: arguments[name] + " " + line.strip() for name in current})
        else:
            prose.append(line)
            current = ()
    return prose, arguments


def sentences(lines):
    """Prose as one line."""
    return " ".join(line.strip() for line in lines)


def paragraphs(lines):
    """Prose as Markdown: shapes get a paragraph of their own, indented lines are code."""
    result, code = [], False
    for line in lines:
        if line.startswith("  "):
            if not code:
                result += ["", "```cpp"]
            result.append(line[2:])
            code = True
            continue
        if code:
            result.append("```")
        new = code or not result or not line or SHAPES.match(line) and result[-1].endswith(".")
        code = False
        if new:
            result += [""] * bool(result) + [escape(line)] * bool(line)
        else:
            result[-1] = (result[-1] + " " + escape(line)).strip()
    return result + ["```"] * code


def escape(text):
    """Text in which Markdown finds no markup but its own `code`."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*<|\\]|(?<!\w)_|_(?!\w))", r"\\\1", parts[i])
    return "`".join(parts)


def as_sentence(text):
    """With a capital letter and a full stop, unless it begins with a name or a literal."""
    text = text.strip()
    if text and text[-1] not in ".:!?":
        text += "."
    first = re.match(r"(?!true|false)[a-z]+\b(?!::|[_(.=\[])", text)
    return text[0].upper() + text[1:] if first else text
