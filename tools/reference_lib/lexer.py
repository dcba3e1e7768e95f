"""Cuts a header into tokens and comments; macros that a header defines, uses and undefines are expanded on the way."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

TOKEN = re.compile(r"""
    (?P<space>[ \t\n]+)
  | (?P<line_comment>//[^\n]*)
  | (?P<block_comment>/\*.*?\*/)
  | (?P<directive>^\#(?:[^\n\\]|\\.)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.'])*)
  | (?P<symbol>::|->|<<|&&|\|\||\.\.\.|[^\w\s])
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

MACRO = re.compile(r"\#define[ ](\w+)\(([^)]*)\)(.*)", re.DOTALL)


class Token(NamedTuple):
    text: str
    line: int
    space: bool  # whether whitespace stands before it
    is_word: bool


class Macro(NamedTuple):
    name: str
    parameters: list
    body: str
    line: int


@dataclass
class Lexed:
    """A header's tokens, its comments by line (without slashes) and the macros it defines."""
    tokens: list = field(default_factory=list)
    comments: dict = field(default_factory=dict)  # of lines that hold nothing else
    trailing: dict = field(default_factory=dict)  # behind code
    macros: dict = field(default_factory=dict)
    undefined: set = field(default_factory=set)   # macros that end with the header


def tokens_of(text, line=None):
    """The tokens of code without comments or directives; all on one line when it is given."""
    result, space = [], False
    for match in TOKEN.finditer(text):
        if match.lastgroup == "space":
            space = True
            continue
        result.append(Token(match.group(), line, space, match.lastgroup == "word"))
        space = False
    return result


def lex(text):
    """Cuts a header's text into a Lexed."""
    result = Lexed()
    line, space, line_has_code, trailing_column = 1, False, False, None
    start_of_line = 0
    for match in TOKEN.finditer(text):
        kind, piece = match.lastgroup, match.group()
        column = match.start() - start_of_line
        if kind == "space":
            if "\n" in piece:
                if piece.count("\n") > 1:
                    trailing_column = None
                line_has_code = False
            space = True
        elif kind == "line_comment":
            comment = piece[2:].removeprefix(" ").rstrip()
            if line_has_code:
                result.trailing[line] = [comment]
                trailing_column, trailing_line = column, line
            elif trailing_column == column:
                result.trailing[trailing_line].append(comment)
            else:
                result.comments[line] = comment
        elif kind == "directive":
            _note_directive(result, piece, line)
        elif kind == "block_comment":
            name = piece[2:-2].strip()
            if name.isidentifier():  # an argument's name that the compiler must not see
                result.tokens.append(Token(name, line, space, True))
        else:
            result.tokens.append(Token(piece, line, space, kind == "word"))
            space, line_has_code, trailing_column = False, True, None
        if "\n" in piece:
            line += piece.count("\n")
            start_of_line = match.start() + piece.rindex("\n") + 1
    result.tokens = _expanded(result)
    return result


def _note_directive(result, piece, line):
    undefined = re.match(r"#undef (\w+)", piece)
    if undefined:
        result.undefined.add(undefined.group(1))
    macro = MACRO.match(piece)
    if macro:
        parameters = [name.strip() for name in macro.group(2).split(",")]
        body = macro.group(3).replace("\\\n", "\n").strip()
        result.macros[macro.group(1)] = Macro(macro.group(1), parameters, body, line)


def _expanded(lexed):
    local = {name: macro for name, macro in lexed.macros.items() if name in lexed.undefined}
    if not local:
        return lexed.tokens
    result, i = [], 0
    while i < len(lexed.tokens):
        token = lexed.tokens[i]
        if token.text in local and lexed.tokens[i + 1].text == "(":
            end = matching(lexed.tokens, i + 1)
            arguments = [join(part) for part in split_at_commas(lexed.tokens[i + 2:end], angles=False)]
            result += tokens_of(_substitute(local[token.text], arguments), token.line)
            i = end + 1
        else:
            result.append(token)
            i += 1
    return result


def _substitute(macro, arguments):
    values = dict(zip(macro.parameters, arguments))
    text = re.sub(r"(?<!#)#(\w+)", lambda m: f'"{values.get(m.group(1), m.group(1))}"', macro.body)
    text = re.sub(r"\b\w+\b", lambda m: values.get(m.group(), m.group()), text)
    return re.sub(r"\s*##\s*", "", text)


CLOSING = {"(": ")", "{": "}", "[": "]", "<": ">"}


def matching(tokens, i):
    """The index of the bracket that closes the one at i; round, curly, square, or the angles of a template."""
    angles = tokens[i].text == "<"
    opening = "({[<" if angles else "({["
    depth = []
    for j in range(i, len(tokens)):
        text = tokens[j].text
        if text in opening:
            depth.append(CLOSING[text])
        elif depth and text == depth[-1]:
            depth.pop()
            if not depth:
                return j
    raise ValueError(f"line {tokens[i].line}: '{tokens[i].text}' is never closed")


def split_at_commas(tokens, angles=True):
    """The runs of tokens between commas that stand in no brackets; angles count up to an equals sign."""
    parts, current, i = [], [], 0
    while i < len(tokens):
        text = tokens[i].text
        in_type = angles and not any(token.text == "=" for token in current)
        if text in "({[" or (text == "<" and in_type):
            end = matching(tokens, i)
            current += tokens[i:end + 1]
            i = end
        elif text == ",":
            parts.append(current)
            current = []
        else:
            current.append(tokens[i])
        i += 1
    return parts + [current] if current or parts else []


def join(tokens):
    """The tokens as the header spaces them, on one line."""
    text = ""
    for i, token in enumerate(tokens):
        if i and token.space and tokens[i - 1].text != "(" and token.text not in (")", ",", ";"):
            text += " "
        text += token.text
    return text
