#!/usr/bin/env bash
# Every figure that we quote, measured here and now, in about an hour on two cores; results under $OUT (bench/results).
#   ROUNDS=10    interleaved rounds of every race and of the starts
#   IMAGES=DIR   the pictures; by default our own corpus, which is made on the first run
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-10} out=${OUT:-bench/results} images=${IMAGES:-bench/corpus}
if [ "$images" = bench/corpus ] && [ ! -f bench/corpus/.made ]; then
    echo "bench: making the corpus (2,000 pictures, some minutes)"
    .venv/bin/python bench/make_corpus.py photos bench/corpus
    touch bench/corpus/.made
fi
if [ ! -f bench/corpus-png/.made ]; then
    echo "bench: making 600 of them as PNGs"
    .venv/bin/python bench/make_corpus.py photos bench/corpus-png --n 600 --png
    touch bench/corpus-png/.made
fi
mkdir -p "$out"
find "$images" -name '*.jpg' -exec cat {} + >/dev/null # into the page cache
say() { printf '\nbench: %s, %s\n' "$1" "$(date +%H:%M:%S)"; }

say "against the limit and the peers"
.venv/bin/python bench/peers.py --images "$images" --rounds "$rounds" --modes eval/f32,train/u8 --out "$out/peers.json"
say "train against the limit, longer runs"
.venv/bin/python bench/peers.py --images "$images" --rounds "$rounds" --passes 3 --modes train/u8,train/f32 --only limit,limit_codes,spdl --out "$out/limit-train.json"
say "tar shards beside the folder, from the page cache"
.venv/bin/python bench/peers.py --images "$images" --rounds "$rounds" --modes eval/f32,train/u8 --ours spdl_tar --only spdl_tar,spdl --out "$out/tar.json"
say "PNGs, against the peers"
.venv/bin/python bench/peers.py --images bench/corpus-png --rounds "$rounds" --passes 2 --modes eval/f32,train/u8 \
    --only spdl,torch_pillow,torch_io,opencv,meta_spdl --out "$out/peers-png.json"
say "later epochs from the cache of rows"
.venv/bin/python bench/peers.py --images "$images" --rounds "$rounds" --modes eval/f32 --ours spdl_rows --only spdl_rows,spdl,torch_pillow,ffcv_raw \
    --out "$out/rows.json"
say "time to the first batch"
.venv/bin/python bench/startup.py --images "$images" --rounds "$rounds" --out "$out/startup.json"
.venv-bench/bin/python bench/annotations.py --work build/bench/annotations --out "$out/annotations.json"
say "a billion samples"
.venv/bin/python bench/huge.py --images "$images" --rounds "$rounds" --out "$out/huge.json"
say "an object store"
make -s --no-print-directory store-server
.venv/bin/python bench/store.py --images "$images" --rounds "$rounds" --out "$out/store.json"
say "arrays without media"
.venv-bench/bin/python bench/arrays.py --rounds "$rounds" --out "$out/arrays.json"
say "allocations and memory in the steady state"
.venv/bin/python bench/alloc.py --images "$images" --out "$out/alloc.json"
${GO:-go} test -count=1 -run TestSteadyStateAllocatesNothingPerSample -v ./core/engine | grep -o '[0-9]* allocations for.*' | tee "$out/go_alloc.txt"
say "hand-off in Python"
.venv/bin/python bench/python_handoff.py --rounds "$rounds" --out "$out/python_handoff.json"
say "hand-off and wake-up in C"
make -s --no-print-directory bench-handoff bench-wakeup | tee "$out/handoff.txt"
say "a no-op stage in Python, and in Go"
.venv/bin/python bench/python_stage.py --rounds "$rounds" | tee "$out/stage.txt"
say "tensors in memory, beside torch's DataLoader"
.venv-bench/bin/python bench/held.py --out "$out/held.json"
say "one file at a time, beside Pillow and PyAV"
.venv-bench/bin/python bench/single.py --out "$out/single.json"
say "videos, and memory of a long one"
.venv-bench/bin/python bench/video/run.py --out "$out/video.json" | tee "$out/video.md"
.venv/bin/python bench/video/threads.py --out "$out/video_threads.json"
.venv-bench/bin/python bench/video/films.py --out "$out/films.json" | tee "$out/films.md"
.venv-bench/bin/python bench/video/films.py --fragments --out "$out/films_fragments.json" | tee "$out/films_fragments.md"
.venv/bin/python bench/video/long.py --out "$out/long.json"
say "sounds"
.venv-bench/bin/python bench/audio/peers.py --out "$out/audio.json" | tee "$out/audio.md"
.venv-bench/bin/python bench/audio/peers.py --threads "$(nproc)" --formats mp3 aac opus flac flac16 wav wav44 --out "$out/audio_threads.json" | tee -a "$out/audio.md"
say "operations on pictures, one by one"
.venv-bench/bin/python bench/augment.py --rows 300 | tee "$out/augment.txt"
say "what-if beside the truth, and what the instruments cost"
.venv/bin/python bench/insight.py --images "$images" --rounds "$rounds" | tee "$out/insight.txt"
say "concurrency that is found beside the best fixed one; the mix shifts after 30 s"
${GO:-go} run ./bench/autotune -rounds 1 -seconds 15 | tee "$out/autotune.txt"
[ "$out" != bench/results ] || python3 bench/chart.py # the README's picture
say "done"
