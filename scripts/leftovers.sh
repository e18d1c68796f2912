#!/usr/bin/env bash
# leftovers.sh [FILE]: fail if a test or a demo left anything of ours behind: names in /dev/shm, sockets, processes. What FILE
# lists was there before. leftovers.sh --list only lists.
set -uo pipefail
left=$({
    ls /dev/shm 2>/dev/null | grep '^spdl\.' | sed 's|^|/dev/shm/|'
    find "${XDG_RUNTIME_DIR:-/nonexistent}/spdl" "/tmp/spdl-$(id -u)" /run/spdl -name '*.sock' 2>/dev/null
    pgrep -a 'spdl|ringpattern' 2>/dev/null | sed 's/^/process /'
} | sort)
[ "${1:-}" = --list ] && { printf '%s\n' "$left"; exit 0; }
[ -n "${1:-}" ] && left=$(printf '%s\n' "$left" | comm -23 - "$1")
[ -z "$left" ] && { echo "nothing left behind"; exit 0; }
printf 'left behind:\n%s\n' "$left"
exit 1
