#!/usr/bin/env bash
# How a case ended in the guest, from what boot.sh has written: 0, 1, or 77 where it was skipped; and what it said.
# Usage: case.sh FOLDER CASE
set -euo pipefail
folder=$1
file=$folder/cases/${2//\//,}

for end in passed failed skipped; do
  [ -e "$file.$end" ] || continue
  cat "$file.$end"
  case $end in
    passed) exit 0 ;;
    failed) exit 1 ;;
    skipped) exit 77 ;;
  esac
done
if [ -e "$file.unfinished" ]; then
  echo "no result: the program ended in this case"
else
  echo "no result: the program ended before this case"
fi
echo "the end of what it said:"
tail -n 40 "$folder/output"
exit 1
