# Sourced by other scripts: packages of any Debian suite, from the mirror that this machine's own apt
# uses, through a private apt directory. Nothing is installed, no source of the machine's is touched.
# shellcheck shell=bash

debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The address of the Debian archive, from this machine's apt: the first entry that offers the
# suite CODENAME itself (not its -updates or -security, not a third party's) with component main.
debian_mirrors() {
  local codename=$1 file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    awk -v suite="$codename" '
      function flush() {
        if (on && (" " field["types"] " ") ~ / deb / && (" " field["suites"] " ") ~ (" " suite " ") &&
            (" " field["components"] " ") ~ / main /) { split(field["uris"], uri, " "); print uri[1] }
        split("", field); on = 1
      }
      BEGIN { on = 1 }
      /^#/ { next }
      /^[ \t]*$/ { flush(); next }
      /^[ \t]/ { field[key] = field[key] " " $0; gsub(/[ \t]+/, " ", field[key]); next }
      { at = index($0, ":"); key = tolower(substr($0, 1, at - 1)); value = substr($0, at + 1)
        gsub(/^[ \t]+|[ \t]+$/, "", value); gsub(/[ \t]+/, " ", value); field[key] = value
        if (key == "enabled" && tolower(value) == "no") on = 0 }
      END { flush() }' "$file"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] || continue
    awk -v suite="$codename" '
      $1 == "deb" {
        line = $0; sub(/^deb[ \t]+/, "", line); sub(/^\[[^]]*\][ \t]*/, "", line)
        n = split(line, word, /[ \t]+/)
        if (word[2] == suite) for (i = 3; i <= n; i++) if (word[i] == "main") { print word[1]; break }
      }' "$file"
  done
}

# The mirror for this machine's release; says on stderr why there is none.
debian_mirror() {
  local codename uri
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
  uri=$(debian_mirrors "$codename" | head -n 1)
  if [ -z "$uri" ]; then
    echo "no Debian archive for suite '$codename' with component main in /etc/apt/sources.list*" >&2
    return 1
  fi
  if [ ! -e "$debian_keyring" ]; then
    echo "$debian_keyring is missing (package debian-archive-keyring)" >&2
    return 1
  fi
  echo "$uri"
}

# debian_source URI SUITE: a line of sources.list.
debian_source() { echo "deb [signed-by=$debian_keyring] $1 $2 main"; }

# debian_apt_open WORK SUITE...: makes the private apt directory WORK and reads the suites' indices.
debian_apt_open() {
  local work=$1 uri suite options
  shift
  uri=$(debian_mirror) || return 1
  mkdir -p "$work"/{lists,cache/archives}/partial "$work/log"
  for suite in "$@"; do debian_source "$uri" "$suite"; done >"$work/sources.list"
  mapfile -t options < <(debian_apt_options "$work")
  apt-get "${options[@]}" -qq update >&2
}

# The private apt directory: its options, for any apt command.
debian_apt_options() {
  printf '%s\n' "-oDir::State::Lists=$1/lists" "-oDir::Etc::SourceList=$1/sources.list" \
    -oDir::Etc::SourceParts=/dev/null "-oDir::Cache=$1/cache" "-oDir::Log=$1/log" \
    -oDir::Cache::pkgcache=pkgcache.bin -oDir::Cache::srcpkgcache=srcpkgcache.bin \
    -oAPT::Sandbox::User=root -oAcquire::Languages=none -oAcquire::Retries=3 \
    -oAcquire::IndexTargets::deb::{Contents-deb,DEP-11}::DefaultEnabled=false
}

# debian_versions WORK SUITE PACKAGE: the versions of it that the suite has, the newest first.
debian_versions() {
  local options
  mapfile -t options < <(debian_apt_options "$1")
  apt-cache "${options[@]}" madison "$3" | awk -F ' *[|] *' -v suite=" $2/" 'index($3, suite) { print $2 }'
}

# debian_fetch WORK FOLDER PACKAGE...: downloads and unpacks into FOLDER; PACKAGE/SUITE and PACKAGE=VERSION work too.
debian_fetch() {
  local work=$1 folder=$2 options deb
  shift 2
  mkdir -p "$folder" "$work/debs"
  mapfile -t options < <(debian_apt_options "$work")
  (cd "$work/debs" && apt-get "${options[@]}" -qq download "$@") >&2 || return 1
  for deb in "$work/debs"/*.deb; do
    dpkg-deb -x "$deb" "$folder" || return 1
  done
  rm -r "$work/debs"
}
