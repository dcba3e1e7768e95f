"""Finds the declarations of a header. It knows the C++ that clang-formatted headers of this project hold, no more."""

from .declarations import Alias, Enum, Field, Function, Macro, Parameter, Record
from .lexer import join, lex, matching, split_at_commas

SPECIFIERS = {"virtual", "static", "explicit", "inline", "constexpr", "friend", "mutable"}
ACCESS = {"public", "protected", "private"}


def scan(text, header):
    """The declarations of all namespaces in a header, in order; those of classes hang below their Record."""
    lexed = lex(text)
    scanner = _Scanner(lexed, header)
    found = scanner.scope(0, len(lexed.tokens), (), "public")
    return found + scanner.macros()


def declarators(tokens):
    """The names that `double low = 0, high = 1` declares, each with the tokens of its initial value."""
    found = []
    for part in split_at_commas(tokens):
        stop = next((i for i, token in enumerate(part) if token.text in ("=", "{")), len(part))
        if found and stop != 1:  # a comma inside of the value: std::map<int, int>{}
            found[-1][1].extend([tokens[tokens.index(part[0]) - 1]] + part)
        else:
            found.append((part[stop - 1].text, part[stop:]))
    return found


class _Scanner:
    def __init__(self, lexed, header):
        self.lexed, self.tokens, self.header = lexed, lexed.tokens, header
        self.previous = None  # the declaration before this one, in the same scope

    def scope(self, i, end, scope, access):
        """The declarations between two tokens: of a namespace, or of a class whose members begin with `access`."""
        found, before, self.previous = [], self.previous, None
        while i < end:
            text = self.tokens[i].text
            if text == ";":
                i += 1
            elif text in ACCESS and self.tokens[i + 1].text == ":":
                access, self.previous = text, None
                i += 2
            elif text == "namespace":
                i = self._namespace(i, scope, access, found)
            elif text in ("extern", "static_assert") or (text == "friend" and self.tokens[i + 1].text == "class"):
                i = self._past(i, ";")
            elif text.startswith("COHORT_") and self.tokens[i + 1].text == "(":
                i = matching(self.tokens, i + 1) + 1
            else:
                i = self._declaration(i, scope, access, found)
        self.previous = before
        return found

    def _namespace(self, i, scope, access, found):
        j = i + 1
        while self.tokens[j].text != "{":
            j += 1
        end = matching(self.tokens, j)
        names = tuple(token.text for token in self.tokens[i + 1:j] if token.is_word)
        found += self.scope(j + 1, end, scope + names, access)
        return end + 1

    def _declaration(self, i, scope, access, found):
        start, template = i, ""
        while self.tokens[i].text == "template":
            end = matching(self.tokens, i + 1)
            i = self._past_requires(end + 1)
            template = join(self.tokens[start:i])
        text = self.tokens[i].text
        common = {"scope": scope, "header": self.header, "line": self.tokens[start].line, "template": template,
                  "access": access}
        if text == "using":
            return self._alias(i, common, found)
        if text == "enum":
            return self._enum(i, common, found)
        if text in ("struct", "class", "union"):
            j = self._head_end(i)
            if self.tokens[j].text == "{":
                return self._record(i, j, common, found)
            if self.tokens[j].text == ";":
                return j + 1
        return self._function_or_field(i, common, found)

    def _past_requires(self, i):
        """Behind the constraint of a template, if there is one: in parentheses, or a concept's name."""
        if self.tokens[i].text != "requires":
            return i
        i += 1
        if self.tokens[i].text == "(":
            return matching(self.tokens, i) + 1
        while self.tokens[i].text != "<":
            i += 1
        return matching(self.tokens, i) + 1

    def _head_end(self, i):
        """Where a class's head ends: at its brace, at the semicolon of a forward declaration, or at anything else."""
        while self.tokens[i].text not in ("{", ";", "(", "="):
            i = matching(self.tokens, i) + 1 if self.tokens[i].text == "<" else i + 1
        return i

    def _record(self, i, brace, common, found):
        head = self.tokens[i + 1:brace]
        colon = next((n for n, token in enumerate(head) if token.text == ":"), len(head))
        names = [token.text for token in head[:colon] if token.is_word and token.text != "final"]
        end = matching(self.tokens, brace)
        name = names[0] if names else ""
        bases = [join([token for token in part if token.text not in ACCESS | {"virtual"}]).strip()
                 for part in split_at_commas(head[colon + 1:])]
        record = Record(name=name, last_line=self.tokens[end].line, keyword=self.tokens[i].text, bases=bases,
                        text=join(self.tokens[i:brace]), **common)
        self._comment(record, found)
        access = "private" if record.keyword == "class" else "public"
        record.members = self.scope(brace + 1, end, record.scope + (name,), access)
        for member in record.members:
            if member.line == record.line:  # all of it comes from one use of a macro: the comment is the record's
                member.comment, member.block = [], []
        return self._past(end, ";")

    def _enum(self, i, common, found):
        brace = self._past(i, "{") - 1
        end = matching(self.tokens, brace)
        words = [token.text for token in self.tokens[i:brace] if token.is_word and token.text not in ("enum", "class")]
        values = []
        for part in split_at_commas(self.tokens[brace + 1:end]):
            if part:
                above = self._comment_above(part[0].line) if part[0].line > self.tokens[brace].line else []
                values.append((part[0].text, above or self.lexed.trailing.get(part[0].line, [])))
        enum = Enum(name=words[0], last_line=self.tokens[end].line, text=join(self.tokens[i:end + 1]), values=values,
                    **common)
        self._comment(enum, found)
        return self._past(end, ";")

    def _alias(self, i, common, found):
        end = self._past(i, ";") - 1
        if self.tokens[i + 2].text == "=":
            alias = Alias(name=self.tokens[i + 1].text, last_line=self.tokens[end].line, text=join(self.tokens[i:end]),
                          target=join(self.tokens[i + 3:end]).strip(), **common)
            self._comment(alias, found)
        return end + 1

    def _function_or_field(self, i, common, found):
        j, start = i, i
        while True:
            text = self.tokens[j].text
            if text == "operator":
                return self._function(start, j, common, found)
            if text == "(":
                if self.tokens[j - 1].text not in ("requires", "decltype", "alignas"):
                    return self._function(start, j - 1, common, found)
                j = matching(self.tokens, j) + 1
            elif text in ("<", "["):
                j = matching(self.tokens, j) + 1
            elif text in ("=", ";", "{"):
                return self._field(start, j, common, found)
            else:
                j += 1

    def _field(self, start, stop, common, found):
        """`stop` is behind the name: at its initial value or its end."""
        end = stop
        while self.tokens[end].text != ";":
            end = matching(self.tokens, end) + 1 if self.tokens[end].text in "({[" else end + 1
        before = self.tokens[start:stop]
        constant = any(token.text == "constexpr" for token in before)
        while before and (before[0].text in SPECIFIERS):
            before = before[1:]
        kind = join(split_at_commas(before)[0][:-1]).strip()
        for name, default in declarators(before + self.tokens[stop:end]):
            value = join(default[1:] if default and default[0].text == "=" else default).strip()
            declared = Field(name=name, last_line=self.tokens[end].line, type=kind, is_constant=constant, default=value,
                             text=f"{kind} {name}" + (f" = {value}" if value else ""), **common)
            self._comment(declared, found)
        return end + 1

    def _function(self, start, name, common, found):
        """`name` is the token of its name, or the word operator."""
        opening = name + 1
        if self.tokens[name].text == "operator":
            while self.tokens[opening].text != "(" or self.tokens[opening + 1].text == ")" and \
                    self.tokens[opening + 2].text == "(":
                opening += 2 if self.tokens[opening].text == "(" else 1
        spelled = join(self.tokens[name:opening])
        if name > start and self.tokens[name - 1].text == "~":
            spelled = "~" + spelled
        closing = matching(self.tokens, opening)
        stop, end = self._function_end(closing + 1)
        words = {token.text for token in self.tokens[start:name] if token.text != "const"}
        words |= {token.text for token in self.tokens[closing + 1:stop]}
        flags = frozenset(words & {"virtual", "override", "final", "static", "friend", "default", "delete", "const"})
        parameters = [_parameter(part) for part in split_at_commas(self.tokens[opening + 1:closing]) if part]
        function = Function(name=spelled, last_line=self.tokens[end - 1].line, parameters=parameters, flags=flags,
                            text=join(self.tokens[start:stop]), **common)
        outside = self.tokens[name - 1].text == "::"  # the definition of a member
        if not outside:
            self._comment(function, found)
        return end

    def _function_end(self, i):
        """Where the signature ends, and where what follows the function begins."""
        while True:
            text = self.tokens[i].text
            if text == ";":
                return i, i + 1
            if text == "{":
                return i, matching(self.tokens, i) + 1
            if text == ":":
                return i, self._past_initializers(i + 1)
            i = matching(self.tokens, i) + 1 if text in "([" else i + 1

    def _past_initializers(self, i):
        while True:
            while self.tokens[i].text not in ("(", "{"):
                i = matching(self.tokens, i) + 1 if self.tokens[i].text == "<" else i + 1
            i = matching(self.tokens, i) + 1
            if self.tokens[i].text == "...":
                i += 1
            if self.tokens[i].text == "{":
                return matching(self.tokens, i) + 1
            i += 1

    def _past(self, i, text):
        while self.tokens[i].text != text:
            i = matching(self.tokens, i) + 1 if self.tokens[i].text in "({[" and text != "{" else i + 1
        return i + 1

    def _comment(self, declared, found):
        """Gives a declaration its comment: what stands above it, what stands behind it, or its block's."""
        above = self._comment_above(declared.line)
        behind = self.lexed.trailing.get(declared.last_line) or self.lexed.trailing.get(declared.line) or []
        declared.behind = [] if isinstance(declared, (Record, Enum)) else behind
        declared.comment = above + declared.behind
        before = self.previous
        declared.after_blank = before is None or before.last_line + len(above) + 1 < declared.line
        declared.block = above or ([] if declared.after_blank else before.block)
        self.previous = declared
        found.append(declared)

    def _comment_above(self, line):
        lines = []
        while line - 1 in self.lexed.comments:
            line -= 1
            lines.insert(0, self.lexed.comments[line])
        return lines

    def macros(self):
        """The macros that stay defined behind the header and have a comment."""
        found = []
        for macro in self.lexed.macros.values():
            comment = self._comment_above(macro.line)
            if comment and macro.name not in self.lexed.undefined:
                found.append(Macro(name=macro.name, scope=("cohort",), header=self.header, line=macro.line,
                                   last_line=macro.line, text=f"{macro.name}({', '.join(macro.parameters)})",
                                   comment=comment))
        return found


def _parameter(tokens):
    equals = next((n for n, token in enumerate(tokens) if token.text == "="), len(tokens))
    declared, default = tokens[:equals], join(tokens[equals + 1:]).strip()
    named = len(declared) > 1 and declared[-1].is_word and declared[-2].text != "::" and declared[-1].text != "const"
    name = declared[-1].text if named else ""
    return Parameter(join(declared[:-1] if named else declared).strip(), name, default)
