#!/usr/bin/env bash
# test.sh [unit|e2e|languages|fault|torch|all]: run the suites one after the other; each prints its counts, a failure names itself, and
# the last line sums up. Expects `make build`.
set -uo pipefail
cd "$(dirname "$0")/.."
which=${1:-all}
export SPDL_LIBRARY=$PWD/build/libspdl.so SPDL_ENGINE=$PWD/build/spdl PYTHONPATH=$PWD/clients/python
export SPDL_BUILD=$PWD/build
unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHOME LANG LC_ALL LANGUAGE # as on a machine where nobody set anything
passed=0 failed=() started=$SECONDS
before=$(mktemp)
. scripts/beside.sh # of tests that cross processes, which wait most of their time, and others, which share the CPUs with them
trap 'ended; rm -f "$before"' EXIT
scripts/leftovers.sh --list >"$before"

suite() { # suite NAME COMMAND...
    local name=$1
    shift
    printf '\n---- %s\n' "$name"
    local TIMEFORMAT="     $name: %0R s, CPU %0U s + %0S s"
    if [ "$1" = told ]; then TIMEFORMAT="     $name: %0R s more were waited"; fi
    if time "$@"; then passed=$((passed + 1)); else failed+=("$name"); fi
}
want() { [ "$which" = all ] || [ "$which" = "$1" ]; }

if want unit; then
    suite "go" go test ./...
    if go test -race -run '^$' ./core/spelling >/dev/null 2>&1; then # Debian has the detector's runtime in a package of its own
        suite "task engine, under the race detector" go test -race ./core/pipeline ./capi/engine/hosted
    else
        printf '\n---- task engine, under the race detector: skipped, this Go cannot build with -race\n'
    fi
    # What is built without FFmpeg: the other packages are the same, and were tested above.
    suite "go, without FFmpeg" go test -tags noffmpeg $(go list -f '{{.ImportPath}} {{join .Deps " "}} ' ./core/... ./cmd/... | grep '/core/media/av ' | cut -d' ' -f1)
    suite "libspdl" make --no-print-directory capi-test
    suite "libspdl and a GPU" make --no-print-directory cuda-test
    suite "libspdl_engine" make --no-print-directory engine-test
    suite "c++ client" make --no-print-directory cpp-test
    beside .venv/bin/python -m pytest -q tests/exact
    suite "python client" .venv/bin/python -m pytest -q tests/python
    suite "exact against Pillow" told
fi
if [ "$which" = all ]; then beside .venv/bin/python -m pytest -q tests/fault; fi
if want e2e; then suite "end to end" .venv/bin/python -m pytest -q tests/e2e; fi
if [ "$which" = all ]; then suite "faults, short" told; fi
if [ "$which" = languages ]; then
    languages="go java" # those that must be there
    if [ -d build/examples/node/node_modules/koffi ]; then languages+=" node"; else printf '\n---- JavaScript: left out, there is no koffi\n'; fi
    suite "consumers in other languages" env SPDL_LANGUAGES="$languages" .venv/bin/python -m pytest -q tests/e2e -k 'train or engine_go_consumer or columns or language_deaths'
fi
if want fault; then suite "go, killed at fault points" go test -tags spdlfault -run AtEveryPoint ./shm; fi
if [ "$which" = fault ]; then
    suite "faults, long" env SPDL_FAULT_LONG=1 .venv/bin/python -m pytest -q -s tests/fault
    suite "damaged files, long" env SPDL_FAULT_LONG=1 go test -timeout 120m -run Damaged ./core/media/... ./core/array ./core/source
    suite "promises of time, by the clock" env SPDL_FAULT_LONG=1 .venv/bin/python -m pytest -q -s tests/e2e -k within_100_ms
fi
if [ "$which" = torch ]; then
    suite "c++ client with libtorch" make --no-print-directory cpp-torch-test
    suite "exact against torchvision and pycocotools" .venv-torch/bin/python -m pytest -q tests/exact/test_torchvision.py tests/exact/test_drop.py tests/exact/test_drop_sets.py tests/exact/test_drop_arguments.py tests/exact/test_augmix.py tests/exact/test_corners.py tests/exact/test_masks.py
    suite "python client with torch and jax" .venv-torch/bin/python -m pytest -q tests/python/test_arrays.py tests/python/test_dataloader.py \
        tests/python/test_recipes.py tests/python/test_migrate.py
fi
suite "nothing left behind" scripts/leftovers.sh "$before"

printf '\n%d suites passed, %d failed in %d s%s\n' $passed ${#failed[@]} $((SECONDS - started)) \
    "$([ ${#failed[@]} = 0 ] || printf ': %s;' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
