#!/usr/bin/env bash
# demo.sh [DIR]: one engine, three groups, a C, a C++ and a Python consumer reading at the same time. Checks that all
# three saw the same bytes, prints how fast it went, and leaves a contact sheet in demo-out/.
set -euo pipefail
cd "$(dirname "$0")/.."
out=demo-out
rm -rf $out
mkdir -p $out
data=${1:-}
name=demo-$$
export SPDL_LIBRARY=$PWD/build/libspdl.so PYTHONPATH=$PWD/clients/python

if [ -z "$data" ]; then
    data=$out/pictures
    echo "demo: making a folder of pictures"
    .venv/bin/python bench/make_corpus.py shapes $data --n 600 --photos /usr/share/backgrounds --photos /usr/share/wallpapers
    printf 'this is not a picture\n' >$data/circle/9999.jpg # so that a bad sample shows
fi
cat >$out/spec.yaml <<Y
name: $name
source: {folder: $(realpath "$data")}
order: {shuffle: true, seed: 7, epochs: 1}
batch: 32
image:
  transform: [{random_resized_crop: 224}, {horizontal_flip: 0.5}]
ring: {slots: 16, groups: [{name: c}, {name: cpp}, {name: python}]}
Y

build/spdl check $out/spec.yaml
build/spdl view $out/spec.yaml --out $out/contact-sheet.png
build/spdl serve $out/spec.yaml 2>$out/engine.log &
engine=$!
trap 'kill $engine 2>/dev/null; wait $engine 2>/dev/null || true' EXIT

until build/spdl inspect $name >/dev/null 2>&1; do
    kill -0 $engine 2>/dev/null || { cat $out/engine.log; exit 1; }
    sleep 0.1
done
echo "demo: C, C++ and Python read at the same time"
started=$(date +%s.%N)
build/examples/train_c $name c --hash >$out/c.txt & c=$!
build/examples/train_cpp $name cpp --hash >$out/cpp.txt & cpp=$!
.venv/bin/python examples/python/train.py $name python --hash >$out/python.txt & py=$!
fail=0
for p in $c $cpp $py; do wait $p || fail=1; done
ended=$(date +%s.%N)
kill $engine; wait $engine 2>/dev/null || true
trap - EXIT
[ $fail = 0 ] || { echo "demo: a consumer failed"; cat $out/*.txt $out/engine.log; exit 1; }

for who in c cpp python; do grep -E '^[0-9]+ [0-9a-f]{8}$' $out/$who.txt | sort -n >$out/$who.hashes; done
batches=$(wc -l <$out/c.hashes)
[ "$batches" -gt 0 ] || { echo "demo: no batch arrived"; cat $out/engine.log; exit 1; }
cmp $out/c.hashes $out/cpp.hashes
cmp $out/c.hashes $out/python.hashes
samples=$(find -L "$data" -type f | wc -l)
awk -v b="$batches" -v n="$samples" -v s="$started" -v e="$ended" 'BEGIN {
    printf "demo: C, C++ and Python saw the same bytes in all of %d %s (%d %s, %.1f s, %.0f samples/s decoded once, read three times)\n",
        b, b == 1 ? "batch" : "batches", n, n == 1 ? "file" : "files", e-s, n/(e-s) }'
grep -vE '^[0-9]+ [0-9a-f]{8}$' $out/c.txt $out/cpp.txt $out/python.txt | sed "s|^$out/||; s|\.txt:|: |" || true
echo "demo: look at $out/contact-sheet.png; the engine's log is $out/engine.log"
