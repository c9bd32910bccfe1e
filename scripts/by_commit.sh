# Sourced for what each commit checks another part of: the same commit always the same.
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

# passed: a file with the commit of the last whole run on this machine that passed. passed_commit: where this checkout has
# left that commit's history; without one the commit before this one. Empty where there is none.
passed=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}/passed
passed_commit() {
  local commit
  commit=$(cat "$passed" 2>/dev/null || true)
  git merge-base "${commit:-none}" HEAD 2>/dev/null || git rev-parse -q --verify "HEAD~1^{commit}" || true
}

# A seed for what is drawn: the same commit fails again, or never.
commit_seed() { echo $((16#$(git rev-parse HEAD 2>/dev/null | cut -c1-7 || echo 1))); }
