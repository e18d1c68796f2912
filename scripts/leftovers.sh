#!/usr/bin/env bash
# leftovers.sh [FILE]: fail if a test or a demo left anything of ours behind: names in /dev/shm, sockets, temporary files and
# directories, processes. What FILE lists was there before. leftovers.sh --list only lists.
set -uo pipefail
programs='^(spdl(-[a-z]+)?|ringpattern|fault-[a-z]+|capi-[a-z]+|[a-z_]+\.test|(train|stage|pipeline|own_source)_(c|cpp))$'
ours() {
    {
        ls /dev/shm 2>/dev/null | grep '^spdl\.' | sed 's|^|/dev/shm/|'
        find "${XDG_RUNTIME_DIR:-/nonexistent}/spdl" "/tmp/spdl-$(id -u)" /run/spdl -name '*.sock' 2>/dev/null
        # Go's t.TempDir is Test..., ours are spdl...: one that is left was of somebody who was killed
        find /tmp "${TMPDIR:-/tmp}" -maxdepth 1 \( -name 'spdl*' -o -name 'Test*' -o -name 'Fuzz*' \) ! -path "/tmp/spdl-$(id -u)" 2>/dev/null
        # what has ended is no more than a number, which init takes away when it comes to it, in some containers never
        pgrep -u "$(id -u)" -r D,R,S,T,t -a "$programs" 2>/dev/null | sed 's/^/process /'
    } | LC_ALL=C sort -u
}
[ "${1:-}" = --list ] && { ours; exit 0; }
for _ in $(seq 30); do # a process that was told to end may take a moment
    left=$(ours | LC_ALL=C comm -23 - "${1:-/dev/null}")
    [ -z "$left" ] && { echo "nothing left behind"; exit 0; }
    sleep 1
done
printf 'left behind:\n%s\n' "$left"
exit 1
