#!/bin/sh
# compile_with_ccache.sh CCACHE COMPILER ARGUMENTS...: what compiles a source, by CMake's launcher. Precompiled headers are
# made without ccache: where an older one lies in their place, it takes that for what is compiled, whatever the headers say.
ccache=$1
shift
case "$*" in
  *.gch\ *) exec "$@" ;;
esac
exec "$ccache" "$@"
