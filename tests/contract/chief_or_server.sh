#!/bin/sh
# One task of `cohort launch`: the chief is the program; the others are servers that know nothing of it.
# chief_or_server.sh COHORT PROGRAM
case "$TF_CONFIG" in
  *'"type":"chief"'*) exec "$2" ;;
  *) exec "$1" server ;;
esac
