#!/bin/sh
# Makes the home of each user of a virtual cluster, where it is missing. A folder that cannot be given to its user, as on a
# file system that trusts no root of ours, is left to the administrator. In /home and /tmp, which may be open to all at
# first, nobody is to rename what is another's.
chmod 1777 /tmp
chmod go-w /home 2>/dev/null || echo "make_homes: /home may be open to all" >&2
while IFS=: read -r name _ uid gid _ home _; do
  case $home in /home/*) ;; *) continue ;; esac
  if [ -e "$home" ] || [ -L "$home" ]; then continue; fi
  mkdir -m 700 "$home" && chown -h "$uid:$gid" "$home" || echo "make_homes: no home for $name" >&2
done </etc/passwd
exit 0
