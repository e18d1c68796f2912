# beside.sh, to be sourced: a command that runs beside others, and is told as a whole.
held=$(mktemp) running=

beside() { # beside COMMAND...: starts it
    (
        TIMEFORMAT='     beside others: %0R s, CPU %0U s + %0S s' status=0
        trap 'kill $! 2>/dev/null' TERM
        time { "$@" & wait $! || status=$?; }
        exit $status
    ) >"$held" 2>&1 &
    running=$!
}
told() { # waits for it, and says what it said, with its status
    local status=0
    wait "$running" || status=$?
    running=
    cat "$held"
    return $status
}
ended() { # for a trap
    kill $running 2>/dev/null || true
    rm -f "$held"
}
