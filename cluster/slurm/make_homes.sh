#!/bin/sh
# Makes the home of each user of a virtual cluster, where it is missing. A folder that cannot be given to its user, as on a
# file system that trusts no root of ours, is left to the administrator.
while IFS=: read -r name _ uid gid _ home _; do
  case $home in /home/*) ;; *) continue ;; esac
  if [ -e "$home" ]; then continue; fi
  mkdir -m 700 "$home" && chown "$uid:$gid" "$home" || echo "make_homes: no home for $name" >&2
done </etc/passwd
exit 0
