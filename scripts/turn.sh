# Sourced by test.sh and tidy.sh, for what only a part of is checked with each commit.
# shellcheck shell=bash

# turn N: a number below N, with each commit of a branch the next one, so that N commits in a row meet every part. Where
# the history is cut off, as in a shallow clone, it is drawn from the commit's name.
turn() {
  local number
  if [ "$(git rev-parse --is-shallow-repository)" = false ]; then
    number=$(git rev-list --count --first-parent HEAD)
  else
    number=$((16#$(git rev-parse --short=7 HEAD)))
  fi
  echo $((number % $1))
}
