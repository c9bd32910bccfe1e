# Sourced by scripts that start others.
# shellcheck shell=bash

# end_children PID: ends all that this process has started, and what that has. Each is stopped first, as it would start
# another in place of one that ends.
end_children() {
  local child
  for child in $(pgrep -P "$1" 2>/dev/null); do
    kill -STOP "$child" 2>/dev/null || continue
    end_children "$child"
    kill -TERM "$child" 2>/dev/null || true
    kill -CONT "$child" 2>/dev/null || true
  done
}
