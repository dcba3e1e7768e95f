#!/bin/sh
# parse_to_end.sh RESULT COMMAND...: runs a compiler on a unit that ends with an assertion that fails, and makes RESULT where
# nothing failed before it.
result=$1
shift
LC_ALL=C "$@" -Wfatal-errors 2>"$result.log"
if grep -q 'error: static.assert.* failed.*end of the header' "$result.log"; then
  exec touch "$result"
fi
cat "$result.log" >&2
exit 1
