# Sourced by guest.sh: why a machine failed, where that is the emulation's fault and not that of what ran in it.
# tests/guest/harness tests it with saved consoles.
# shellcheck shell=bash

# The kernel reports a stall that lasts anew about every minute, in its own time.
guest_stall_seconds=90

# A kernel that is told to, finds no disk, loses its init or has too little memory panics, too. Those are ours.
guest_own_panics='sysrq triggered|Attempted to kill init|VFS: |No working init|Requested init|deadlocked on memory'
guest_stalls='BUG: soft lockup|self-detected stall on CPU|detected stalls on CPUs/tasks'

# machine_fault CONSOLE STATUS SECONDS: one line that says what failed, or 1 where none of the known faults is seen.
# CONSOLE is the kernel's console, STATUS is QEMU's exit status ("" while it runs), SECONDS is how long it ran.
machine_fault() {
  local text line
  text=$(console_text "$1")
  case $2 in
    132 | 133 | 134 | 135 | 136 | 139) # its own crash: ILL, TRAP, ABRT, BUS, FPE, SEGV
      echo "QEMU died of SIG$(kill -l "$2")"
      return ;;
  esac
  if line=$(grep -m 1 'Kernel panic - not syncing: ' <<<"$text") && ! grep -qE "$guest_own_panics" <<<"$line"; then
    echo "its kernel panicked: ${line#*not syncing: }"
    return
  fi
  # A stall on a busy host passes, and what fails later fails for another reason: it must have lasted to the end.
  line=$(grep -E "$guest_stalls" <<<"$text" | tail -n 1)
  [ -n "$line" ] && [ "$(console_seconds "$line")" -ge $(($3 - guest_stall_seconds)) ] || return 1
  echo "its kernel hung: ${line#*] }"
}

# end_of FILE: of "up 12" and "exit 1 345", the status and how long it took in the guest's time.
end_of() {
  awk '$1 == "up" { up = $2 } $1 == "exit" { print $2, $3 - up }' "$1"
}

# clock_fault GUEST HOST: where so many seconds passed in the guest while so many passed here, so that its limits meant
# nothing; or 1. Its kernel measures the speed of its clock at the boot, wrongly if the host stands still meanwhile.
clock_fault() {
  [ "$1" -gt $((2 * $2 + 10)) ] || return 1
  echo "its clock ran $1 s in $2 s"
}

# last_words CONSOLE: the last line on it.
last_words() {
  local line
  line=$(console_text "$1" | grep -v '^ *$' | tail -n 1 | cut -c 1-200)
  echo "${line:-nothing}"
}

console_text() { tr -d '\r\000' <"$1"; }

# console_seconds LINE: the kernel's time in whole seconds, 0 where the line lacks it.
console_seconds() {
  local time
  time=$(sed -nE 's/.*\[ *([0-9]+)\.[0-9]+\].*/\1/p' <<<"$1")
  echo "${time:-0}"
}
