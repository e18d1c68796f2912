#!/usr/bin/env bash
# Format, vet, lint, types, import directions, and the public header alone as C11 and C++17. Names every finding;
# ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
export CGO_CFLAGS_ALLOW='.*'
passed=0 failed=0
run() { # run NAME COMMAND...: the command must succeed and print nothing
    local name=$1 out rc
    shift
    out=$("$@" 2>&1)
    rc=$?
    if [ $rc = 0 ] && [ -z "$out" ]; then passed=$((passed + 1)); printf 'ok    %s\n' "$name"
    else failed=$((failed + 1)); printf 'FAIL  %s\n%s\n' "$name" "$out"; fi
}

c_files() { git ls-files '*.c' '*.h' '*.cpp' '*.hpp'; }
go_format() { gofmt -l $(git ls-files '*.go'); }
c_format() { c_files | xargs clang-format-14 --dry-run 2>&1 | grep -m 20 warning; true; }
client_types() { (cd clients/python && ../../.venv/bin/python -m mypy --no-error-summary); }
told_types() { # the examples are no typed programs, and must be no wrong ones
    .venv/bin/python -m mypy --no-error-summary --config-file tests/python/typed/mypy.ini tests/python/typed
    MYPYPATH=clients/python .venv/bin/python -m mypy --no-error-summary --config-file= --cache-dir build/mypy --follow-imports silent --ignore-missing-imports \
        --check-untyped-defs examples/python/*.py examples/spdl/*.py
}
header() { "$@" -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only include/spdl.h; }

# room: the rooms of ours that it may import, directly or not
import_rules() {
    cat <<'R'
shm
core/tensor
core/pipeline
core/array      core/tensor
core/grid       core/tensor
core/source/store
core/source     core/source/store core/array core/grid core/spelling core/template core/tensor
core/sampler
core/spelling
core/template
core/spec       core/tensor core/spelling core/template
core/media      core/media/av core/media/heif
core/media/av
core/media/far
core/media/heif
core/media/video core/media core/media/av core/media/far core/media/heif core/tensor
core/media/whole
core/media/audio core/media/av core/media/far core/media/whole core/tensor
core/media/mux core/media/av core/media/far core/media/whole
core/coded      core/source/store core/media/mux core/media/audio core/media/av core/media/far core/media/whole core/array core/tensor core/spec core/spelling core/template
core/batch
core/load       core/source/store core/media core/media/av core/media/audio core/media/far core/media/heif core/media/video core/media/whole core/array core/batch core/spec core/spelling core/template core/tensor
core/pack       core/array core/grid core/batch core/load core/media core/media/av core/media/audio core/media/far core/media/heif core/media/video core/media/whole core/pipeline core/source core/source/store core/spec core/spelling core/template core/tensor
core/device
core/device/cuda
core/device/upload  core/device core/device/cuda shm
core/telemetry  core/pipeline
core/telemetry/web  core/telemetry core/pipeline
core/engine     core/array core/grid core/batch core/device core/load core/media core/media/audio core/media/av core/media/far core/media/heif core/media/video core/media/whole core/pipeline core/sampler core/source core/source/store core/spec core/spelling core/telemetry core/template core/tensor shm
capi/engine/hosted  core/pipeline core/spelling core/telemetry
R
}
imports() {
    local m room allowed dep
    m=$($GO list -m)
    import_rules | while read -r room allowed; do
        [ -d "$room" ] || echo "$room is not there"
        $GO list -deps "./$room" | grep "^$m/" | sed "s|^$m/||" | while read -r dep; do
            case " $room $allowed " in *" $dep "*) ;; *) echo "$room must not import $dep" ;; esac
        done
    done
    # CUDA lives in the uploader alone
    $GO list -deps ./cmd/spdl ./capi/engine | grep '/core/device/' | sed 's/$/ must not be in the engine/'
    # go-astiav lives in core/media alone; libspdl and the clients know no engine header
    git grep -l 'go-astiav"' -- '*.go' | grep -v '^core/media/' | sed 's/$/ must not import go-astiav (core\/media only)/'
    git grep -nE '#include "(core|shm)/' -- clients examples
    # who looks for a room finds it
    git ls-files 'core/*.go' 'shm/*.go' 'capi/*.go' 'cmd/*.go' | xargs -n 1 dirname | sort -u | while read -r room; do
        grep -qF "\`$room\`" docs/architecture.md || echo "$room is not in docs/architecture.md"
    done
    true
}

# what a trial leaves behind is not committed with the rest: what is kept is small, and at the root stands what is known there
strays() {
    git ls-files -z | xargs -0 du -b | awk '$1 > 524288 {print $2 " has " $1 " bytes: want at most 524288 of a file that is kept"}'
    git ls-files | grep -v / | grep -vxE '\.[a-z-]+|CHANGELOG\.md|LICENSE|Makefile|README\.md|go\.(mod|sum)|requirements[a-z-]*\.txt|ruff\.toml' | sed 's/$/ is not known at the root/'
    true
}

second_checkout() { # another checkout shares Go's build cache: what it builds must not hang on this one's files
    local dir
    dir=$(mktemp -d)
    git ls-files -z | xargs -0 cp --parents -t "$dir" && make -s -C "$dir" spdl >/dev/null && "$dir/build/spdl" --version >"$dir/version" &&
        ! grep -al "$PWD/" "$dir"/build/spdl "$dir"/build/lazy/*.pc
    local rc=$?
    rm -rf "$dir"
    return $rc
}

run "gofmt" go_format
run "clang-format" c_format
run "go vet" $GO vet ./...
run "go vet (noffmpeg)" $GO vet -tags noffmpeg ./...
run "go vet (spdlfault)" $GO vet -tags spdlfault ./...
run "staticcheck" build/tools/staticcheck ./...
run "imports point one way" imports
run "header as C11 (gcc)" header gcc -std=c11
run "header as C++17 (g++)" header g++ -std=c++17 -x c++
run "header as C11 (clang)" header clang-14 -std=c11 -Weverything -Wno-padded -Wno-unused-macros
run "header as C++17 (clang)" header clang++-14 -std=c++17 -x c++
run "names in Python" .venv/bin/python -m ruff check --no-cache --quiet --output-format concise
run "python compiles" python3 -m compileall -q clients/python tests/python
run "types of the Python client" client_types
run "types that Python programs are told" told_types
run "the picture of speeds is of the results" python3 bench/chart.py --check
run "a second checkout builds" second_checkout
run "no strays" strays
run "no open ends" bash -c "! git grep -nE '\\b(TODO|FIXME|XXX)\\b' -- '*.go' '*.c' '*.h' '*.hpp' '*.py' '*.sh' | grep -v scripts/check.sh"
printf '%d passed, %d failed\n' $passed $failed
[ $failed = 0 ]
