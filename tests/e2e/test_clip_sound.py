"""The sound of a clip: what is heard while the frames that were chosen are on show, by the clock of the file."""

import itertools
import time

import numpy as np
import pytest
import spdl
import spdl.io

RATE, FPS, FRAMES = 8000, 10, 40
ORDER = {"shuffle": False, "epochs": 1}
PIXELS = [{"resize": [8, 8]}]
CLIP = {"kind": "clips_at_random_indices", "num_frames_per_clip": 5, "num_indices_between_frames": 2}
NUMBERED = np.arange(1, FRAMES * RATE // FPS + 1, dtype=np.int16)[None]  # sample k is k + 1
LEVELS = 20 + 5 * np.arange(FRAMES)


@pytest.fixture(scope="module", autouse=True)
def writer(tmp_path_factory):
    """What Go opens once for the process that writes these files is there before a test counts descriptors."""
    film(tmp_path_factory.mktemp("warm") / "a.mov")
    time.sleep(0.2)


def film(path, video_at=0.0, sound_at=0.0):
    """Frame i, of level 20 + 5 i, is on show from video_at + i / 10 on, and the sound's first sample is heard at sound_at."""
    pictures, tone = path.with_name(path.name + ".v.mkv"), path.with_name(path.name + ".a.mov")
    frames = np.repeat(LEVELS.astype(np.uint8), 32 * 32 * 3).reshape(FRAMES, 32, 32, 3)
    spdl.io.save_video(pictures, frames, FPS, codec="mpeg4", qscale=2)
    spdl.io.save_audio(tone, NUMBERED, RATE, codec="pcm_s16le")
    parts = [(spdl.io.demux_video(pictures), video_at), (spdl.io.demux_audio(tone), sound_at)]
    muxer = spdl.io.Muxer(path)
    for packets, at in parts:
        muxer.add_remux_stream(packets.codec, bsf=f"setts=ts=TS+{at}/TB" if at else None)
    with muxer.open():
        for i, (packets, _) in enumerate(parts):
            muxer.write(i, packets)
    pictures.unlink()
    tone.unlink()
    return path


def heard(start, n, sound_at=0.0, rate=RATE, sound=NUMBERED[0]):
    """n samples of the sound from second start on; 0 where it has none."""
    at = round((start - sound_at) * rate) + np.arange(n)
    there = (at >= 0) & (at < len(sound))
    return np.where(there, sound[np.clip(at, 0, len(sound) - 1)], 0)


def samples(batch, row, name="audio"):
    n = batch["length" if name == "audio" else f"{name}.length"][row]
    return np.rint(batch[name][row][0] * 32768).astype(int), n


def described(source, **more):
    return {"source": source, "batch": 4, "order": {"shuffle": False, "epochs": 3},
            "video": {"select": CLIP, "transform": PIXELS}, "audio": {"rate": RATE, "length": 8000, "window": {"of": "video"}}, **more}


STARTS = [(0.0, 0.0), (0.0, 0.5), (0.5, 0.0), (0.3, 2.1), (0.0, 0.013)]


def only(loader):
    """What the only batch has."""
    return [{name: [row.copy() for row in batch[name]] if name in ("audio", "video") else batch[name].copy() for name in batch} for batch in loader]


@pytest.mark.parametrize("ending", ["mkv", "mov"])
def test_sound_is_of_the_frames_that_were_drawn(tmp_path, open_, ending):
    """To the sample: streams that begin apart either way, clips before the sound begins and behind its end. Three epochs draw three clips of each file."""
    for i, (video_at, sound_at) in enumerate(STARTS):
        film(tmp_path / f"{i}.{ending}", video_at, sound_at)
    loader, seen, silent = open_(described({"folder": str(tmp_path), "labels": "none"})), set(), 0
    for epoch in loader.epochs():
        for batch in epoch:
            for row, index in enumerate(batch["index"]):
                video_at, sound_at = STARTS[index]
                pts, (got, n) = batch["pts"][row], samples(batch, row)
                shown = np.rint((pts - video_at) * FPS).astype(int)
                assert np.abs(batch["video"][row][:, 4, 4, 0].astype(int) - LEVELS[shown]).max() <= 2, "frames and times agree"
                assert np.diff(shown).tolist() == [2] * 4 and n == 7200, "from the first's begin to the last's end"
                want = heard(pts[0], n, sound_at)
                np.testing.assert_array_equal(got[:n], want)
                assert not got[n:].any()
                seen.add((int(index), int(shown[0])))
                silent += 0 in want
    assert len(seen) > 2 * len(STARTS) and silent > 0


def test_a_fixed_length_and_a_time_ahead(tmp_path, open_):
    """Two seconds around one frame, whatever the clip's length; its length counts silence, too."""
    film(tmp_path / "a.mov")
    for at, start, duration in ((0.0, "-1s", "2s"), (2.0, "-480ms", "960ms"), (3.9, "-1s", "2s"), (1.0, "250ms", "100ms"), (0.5, "-100ms", None)):
        window = {"of": "video", "start": start, **({"duration": duration} if duration else {})}
        spec = described({"folder": str(tmp_path)}, batch=1, order=ORDER)
        spec["video"]["select"] = {"kind": "times", "times": [at]}
        spec["audio"].update(length=16000, window=window)
        (batch,) = only(open_(spec))
        begin = at + float(start.removesuffix("ms").removesuffix("s")) / (1000 if start.endswith("ms") else 1)
        lasts = float(duration.removesuffix("ms").removesuffix("s")) / (1000 if duration.endswith("ms") else 1) if duration else at + 0.1 - begin
        got, n = samples(batch, 0)
        assert n == round(lasts * RATE)
        np.testing.assert_array_equal(got[:n], heard(begin, n))


@pytest.mark.parametrize("kind", ["clips_at_regular_indices", "clips_at_random_indices", "clips_at_random_timestamps"])
def test_each_of_several_clips_has_its_sound(tmp_path, open_, kind):
    """To the sample: [N, K, C, L] and [N, K]. A video is evaluated by several clips of it."""
    for i, (video_at, sound_at) in enumerate(STARTS):
        film(tmp_path / f"{i}.mov", video_at, sound_at)
    spec = described({"folder": str(tmp_path), "labels": "none"}, order=ORDER)
    between = {"seconds_between_frames": 0.2} if "timestamps" in kind else {"num_indices_between_frames": 2}
    spec["video"]["select"] = {"kind": kind, "num_clips": 3, "num_frames_per_clip": 5, **between}
    rows, starts = 0, set()
    for batch in open_(spec):
        assert batch["audio"].shape[1:] == (3, 1, 8000) and batch["length"].shape == (batch.rows, 3) and batch["video"].shape[1] == 15
        for row, index in enumerate(batch["index"]):
            shown = np.stack([batch["pts"][row], batch["pts"][row] + batch["duration"][row]]).reshape(2, 3, 5)
            for clip in range(3):
                begin, end = shown[0, clip].min(), shown[1, clip].max()
                got, n = np.rint(batch["audio"][row, clip, 0] * 32768), batch["length"][row, clip]
                assert n == round((end - begin) * RATE)
                np.testing.assert_array_equal(got[:n], heard(begin, n, STARTS[index][1]))
                assert not got[n:].any()
                starts.add((int(index), round(begin, 3)))
            rows += 1
    assert rows == len(STARTS) and len(starts) > 2 * rows


def test_clips_of_a_row_draw_for_themselves(tmp_path, open_):
    """What is random of a sound differs between the clips of a row, and not between two runs; a batch has features of each."""
    film(tmp_path / "a.mov")
    spec = described({"folder": str(tmp_path)}, order=ORDER)
    spec["video"]["select"] = {"kind": "clips_at_regular_indices", "num_clips": 2, "num_frames_per_clip": 5, "sampling_range_end": 1}  # the same frames
    spec["audio"].update(noise={"snr_db": [0, 0]})
    (one,), (two,) = only(open_(spec)), only(open_(spec))
    assert list(one["pts"][0][:5]) == list(one["pts"][0][5:])
    np.testing.assert_array_equal(one["audio"][0], two["audio"][0])
    assert (one["audio"][0][0] != one["audio"][0][1]).any()
    del spec["audio"]["noise"]
    spec["audio"].update(features={"kind": "mel", "n_fft": 400, "hop_length": 160, "n_mels": 8})
    (batch,) = only(open_(spec))
    assert batch["audio"][0].shape == (2, 8, 51)
    np.testing.assert_array_equal(batch["audio"][0][0], batch["audio"][0][1])


def test_crop_and_shape_are_those_of_every_sound(tmp_path, open_):
    film(tmp_path / "a.mov", sound_at=0.5)
    film(tmp_path / "b.mov")
    spec = described({"folder": str(tmp_path)}, batch=2, order=ORDER)
    spec["video"].update(select={"kind": "every", "step": 4}, frames=10, window={"duration": "1s"})  # 3 frames: 0, 0.4 and 0.8 to 1.2 s
    want = [heard(0, 7200, at) for at in (0.5, 0)]
    for shape in ("padded", "ragged"):
        (batch,) = only(open_({**spec, "audio": {**spec["audio"], "shape": shape}}))
        rows = [np.rint(np.asarray(row).ravel() * 32768) for row in batch["audio"]]
        assert list(batch["length"]) == [7200, 7200]
        for row, rest in zip(rows, want):
            np.testing.assert_array_equal(row, rest)
    for crop, first in (("start", 0), ("center", 3100)):
        (batch,) = only(open_({**spec, "audio": {**spec["audio"], "length": 1000, "crop": crop}}))
        for row in range(2):
            np.testing.assert_array_equal(samples(batch, row)[0], want[row][first:first + 1000])
    (batch,) = only(open_({**spec, "audio": {**spec["audio"], "rate": 16000, "length": 20000, "features": {"kind": "mel", "n_fft": 400, "n_mels": 8}}}))
    assert batch["audio"][0].shape[0] == 8 and list(batch["length"]) == [73, 73]


def test_a_sound_longer_than_its_row_is_too_large(tmp_path, open_):
    film(tmp_path / "a.mov")
    spec = described({"folder": str(tmp_path)}, batch=1, order=ORDER, bad_sample={"policy": "fail"})
    spec["audio"]["length"] = 7199
    with pytest.raises(spdl.SpdlError, match="got 7200 or more at 8000 Hz, the row holds 7199; raise audio.length, or set audio.crop"):
        list(open_(spec))


def test_a_bad_video_is_a_bad_sample_once(tmp_path, open_):
    """Its sound is not asked for."""
    film(tmp_path / "a.mov")
    (tmp_path / "b.mov").write_bytes((tmp_path / "a.mov").read_bytes()[:5000])
    loader = open_(described({"folder": str(tmp_path)}, order=ORDER))
    (batch,) = only(loader)
    assert len(batch["index"]) == 1
    assert loader.stats()["rings"][0]["bad_samples"]["total"] == 1


def test_a_video_without_sound_is_a_bad_sample(tmp_path, open_):
    film(tmp_path / "a.mov")
    spdl.io.save_video(tmp_path / "b.mp4", np.zeros((20, 32, 32, 3), np.uint8), FPS, codec="mpeg4")
    loader = open_(described({"folder": str(tmp_path)}, order=ORDER))
    (batch,) = only(loader)
    assert list(batch["index"]) == [0] and loader.stats()["rings"][0]["bad_samples"]["causes"] == {"no_stream": 1}


def lag(got, want, most=200):
    """By how many samples got is later than want, by their correlation."""
    inner = got[most:-most]
    scores = [np.dot(inner, want[most - k:len(want) - most - k]) for k in range(-most, most + 1)]
    return int(np.argmax(scores)) - most


def noise(seconds, rate):
    """Noise whose correlation has a peak of one sample, and that codecs keep: up to a quarter of the rate."""
    spectrum = np.fft.rfft(np.random.default_rng(4).normal(size=int(seconds * rate)))
    spectrum[len(spectrum) // 2:] = 0
    wave = np.fft.irfft(spectrum)
    return (wave / np.abs(wave).max() / 2).astype(np.float32)


def encoded(path, video_at, codec, wave, rate, audio_codec):
    """Frame i is on show from video_at + i / 10 on, and the sound begins at 0, as the encoders were given them; the container moves both alike."""
    muxer = spdl.io.Muxer(path)
    pictures = muxer.add_encode_stream(spdl.io.video_encode_config(height=32, width=32), encoder=codec)
    sound = muxer.add_encode_stream(spdl.io.audio_encode_config(num_channels=1, sample_rate=rate, **({} if audio_codec == "flac" else {"bit_rate": 192000})), encoder=audio_codec)
    with muxer.open():
        pictures.encode(np.repeat(LEVELS.astype(np.uint8), 32 * 32 * 3).reshape(FRAMES, 32, 32, 3), [video_at + i / FPS for i in range(FRAMES)])
        sound.encode(wave[None])


@pytest.mark.parametrize("name, codec, audio_codec, rate", [
    ("aac.mp4", "mjpeg", "aac", 44100), ("aac.mov", "libx264", "aac", 48000), ("aac.mkv", "mjpeg", "aac", 48000), ("aac.ts", "libx264", "aac", 48000),
    ("aac.flv", "flv1", "aac", 44100), ("mp2.ts", "libx264", "mp2", 48000), ("mp3.mp4", "mjpeg", "libmp3lame", 48000), ("mp3.mkv", "mjpeg", "libmp3lame", 44100),
    ("opus.mp4", "mjpeg", "libopus", 48000), ("opus.webm", "libvpx", "libopus", 48000), ("vorbis.mkv", "mjpeg", "libvorbis", 44100),
    ("flac.mkv", "mjpeg", "flac", 44100), ("ac3.mp4", "mjpeg", "ac3", 48000)])
@pytest.mark.parametrize("video_at", [0.0, 0.5])
def test_encoders_delays_are_no_shift(tmp_path, open_, name, codec, audio_codec, rate, video_at):
    """Priming of AAC, Opus' and Vorbis' delays, MP3's: the noise that was encoded is heard at its frames' time, to the sample, or to the clock's tick."""
    wave = noise(4, rate)
    try:
        encoded(tmp_path / name, video_at, codec, wave, rate, audio_codec)
    except spdl.Unsupported as error:
        pytest.skip(str(error))
    spec = described({"folder": str(tmp_path), "labels": "none"}, batch=1, order=ORDER)
    spec["video"]["select"] = {"kind": "indices", "indices": [0, 10, 19]}
    spec["audio"].update(rate=rate, length=3 * rate)
    (batch,) = only(open_(spec))
    n, begin = batch["length"][0], batch["pts"][0][0]
    ticks = rate / 1000 if name.partition(".")[2] in ("mkv", "webm", "flv") else 1
    assert abs(n - 2 * rate) <= 2 * ticks
    moved = begin - video_at  # by the container, which leaves no time negative
    if name == "opus.webm":  # whose muxer moves the frames, and not the sound
        moved = spdl.io.demux_audio(tmp_path / name).packet(0)["pts"] + 312 / rate
    want = heard(begin - moved, n, 0.0, rate, wave)
    got = batch["audio"][0][0][:n]
    off = lag(got, want)
    assert abs(off) <= ticks, f"{off} samples late"
    if ticks == 1:
        assert np.corrcoef(got, want)[0, 1] > 0.95


def test_fields_may_be_in_any_order_and_say_their_part(tmp_path, open_):
    """A sound that stands before its video; one of another file, whose first sample is heard at 0; and draws of the video's own."""
    film(tmp_path / "a.mov", 0.2, 0.7)
    spdl.io.save_audio(tmp_path / "a.wav", NUMBERED, RATE)
    (tmp_path / "t.csv").write_text("path,sound\na.mov,a.wav\n")
    sound = {"rate": RATE, "length": 8000, "window": {"of": "clip"}}
    spec = {"source": {"list": str(tmp_path / "t.csv")}, "batch": 1, "order": {"shuffle": False, "epochs": 3, "seed": 3},
            "fields": {"talk": {"audio": sound}, "clip": {"video": {"select": CLIP, "transform": PIXELS}},
                       "other": {"draw": "own", "video": {"select": CLIP, "transform": PIXELS}},
                       "its": {"audio": {**sound, "window": {"of": "other"}}}, "apart": {"audio": {**sound, "from": "sound"}}}}
    spec["fields"]["clip"]["video"]["from"] = "path"
    spec["fields"]["other"]["video"]["from"] = "path"
    differ = 0
    for batch in itertools.chain.from_iterable(open_(spec).epochs()):
        for name, of, at in (("talk", "clip", 0.7), ("its", "other", 0.7), ("apart", "clip", 0.0)):
            got, n = samples(batch, 0, name)
            assert n == 7200
            np.testing.assert_array_equal(got[:n], heard(batch[f"{of}.pts"][0][0], n, at))
        differ += batch["clip.pts"][0][0] != batch["other.pts"][0][0]
    assert differ


def test_a_plain_list_has_videos_with_their_sound(tmp_path, open_):
    """One file a sample is enough where the sound is the video's own. A filter of the video changes its times, not when it is on show."""
    film(tmp_path / "a.mov", 0.0, 0.5)
    (tmp_path / "l.txt").write_text("a.mov\n")
    spec = described({"list": str(tmp_path / "l.txt")}, batch=1, order=ORDER)
    spec["video"]["select"] = {"kind": "indices", "indices": [19, 10, 12]}
    for extra in ({}, {"filter": "setpts=PTS+7/TB"}):
        (batch,) = only(open_({**spec, "video": {**spec["video"], **extra}}))
        got, n = samples(batch, 0)
        assert n == 10 * 800
        np.testing.assert_array_equal(got[:n], heard(1.0, n, 0.5))


def test_sound_around_a_time_of_each_sample(tmp_path, open_):
    """A frame that a column names, and a fifth of a second around its begin."""
    film(tmp_path / "a.mov", 0.0, 0.5)
    (tmp_path / "t.jsonl").write_text("".join(f'{{"path": "a.mov", "at": {at}}}\n' for at in (0.55, 1.2, 3.9)))
    spec = described({"list": str(tmp_path / "t.jsonl"), "labels": "none", "columns": [{"name": "at", "type": "f64"}]}, batch=3, order=ORDER)
    spec["video"]["select"] = {"kind": "times", "column": "at"}
    spec["audio"]["window"].update(start="-100ms", duration="200ms")
    (batch,) = only(open_(spec))
    for row, begin in enumerate((0.4, 1.1, 3.8)):
        got, n = samples(batch, row)
        assert n == 1600
        np.testing.assert_array_equal(got[:n], heard(begin, n, 0.5))


def test_rows_in_memory_have_their_sound(tmp_path, open_):
    film(tmp_path / "a.mov")
    film(tmp_path / "b.mov", 0.0, 0.5)
    spec = described({"folder": str(tmp_path)}, batch=2, order={"shuffle": False, "epochs": 2}, cache={"rows_bytes": "8MiB"})
    spec["video"]["select"] = {"kind": "indices", "indices": [10, 11]}
    first, second = ([batch["audio"].copy() for batch in epoch] for epoch in open_(spec).epochs())
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.rint(second[0][1][0][:1600] * 32768), heard(1.0, 1600, 0.5))


def test_draws_are_the_same_after_a_resume(tmp_path, open_):
    """Clip and sound follow from seed, epoch and sample: the second half of a run equals what a resumed one has."""
    for i in range(4):
        film(tmp_path / f"{i}.mov", 0.0, 0.1 * i)
    spec = described({"folder": str(tmp_path)}, batch=1, order={"seed": 5, "epochs": 2})
    loader = open_(spec)
    stream, all_rows = itertools.chain.from_iterable(loader.epochs()), []
    for k, batch in enumerate(stream):
        all_rows.append((batch["index"][0], batch["audio"].copy(), batch["video"].copy()))
        if k == 2:
            state = loader.state_dict()
    again = open_(spec, state=state)
    rows = [(batch["index"][0], batch["audio"].copy(), batch["video"].copy()) for epoch in again.epochs() for batch in epoch]
    assert len(all_rows) == 8 and len(rows) == 5
    for (i, a, v), (j, b, w) in zip(all_rows[3:], rows):
        assert i == j
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(v, w)


def test_plain_functions_have_the_clips_sound(tmp_path):
    """What docs/audio.md says of one sample: timestamp counts from the first sample, and start says when that is heard."""
    path = film(tmp_path / "a.mov", 0.2, 0.7)
    clip = spdl.io.load(path, {"video": {"select": {"kind": "indices", "indices": [10, 11, 12]}, "transform": PIXELS}})
    pts, duration = clip["pts"].numpy(), clip["duration"].numpy()
    start = spdl.io.probe_audio(path)["start"]
    assert start == pytest.approx(0.7)
    sound = spdl.io.load_audio(path, timestamp=(pts[0] - start, pts[-1] + duration[-1] - start))
    np.testing.assert_array_equal(np.rint(sound.numpy()[0] * 32768), heard(1.2, 2400, 0.7))
