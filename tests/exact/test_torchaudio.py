"""Resampling, loudness and features equal torchaudio's within the tolerances that docs/audio.md names."""

import warnings

import numpy as np
import pytest

from audio import DECIBEL, FBANK, INTEGRATED, LINEAR, MEL, MFCC, NATURAL, SINC_KAISER, SPECTROGRAM, signal, write_wav

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="session")
def torchaudio():
    kept = torch.version.cuda
    try:
        # torchaudio refuses a torch built for another CUDA; nothing here runs on one.
        torch.version.cuda = "13.0"
        import torchaudio
        import torchaudio.functional
        import torchaudio.transforms
    except (ImportError, RuntimeError) as e:
        pytest.skip(f"torchaudio does not load: {e}")
    finally:
        torch.version.cuda = kept
    return torchaudio


def noise_of(exact):
    """What float32 leaves uncertain, in dB, of bands [..., bands, steps] that are known exactly in dB. An FFT's roundings are as large as its
    loudest bin makes them, so a band that lies g dB below the loudest of its step is uncertain by 2**-24 * 10**(g/20) of its amplitude: at 40
    dB 5e-5 dB, at 65 dB 1e-3 dB. No order of sums avoids it, and no two implementations round alike."""
    gap = exact.max(axis=-2, keepdims=True) - exact
    return 20 / np.log(10) * 2**-24 * 10 ** (gap / 20)


def assert_logarithms(got, want, exact, per_db=1.0, exact_here=None):
    """want is torchaudio's in float32, exact the same transform in float64, exact_here the one that ours is of, where that is another; per_db is how
    much one dB of a band counts. Every value is within float32's noise of the exact one, without exception, as torchaudio's are; where that noise is
    small, so is the difference to torchaudio."""
    noise = noise_of(exact / per_db) * per_db
    ours, theirs = np.abs(got - (exact if exact_here is None else exact_here)), np.abs(want - exact)
    assert (ours <= 6e-5 * per_db + 2 * noise).all(), (ours - 2 * noise).max()
    assert (theirs <= 6e-5 * per_db + 2 * noise).all(), (theirs - 2 * noise).max()
    near = noise <= 5.2e-5 * per_db  # 40 dB
    assert np.abs(got - want)[near].max() <= 1e-4
    assert near.mean() > 0.9
    assert np.sqrt((ours**2).mean()) <= 2 * np.sqrt((theirs**2).mean()) + 1e-6


RATES = [(44100, 16000), (16000, 44100), (48000, 16000), (8000, 16000), (22050, 16000), (44100, 48000), (48000, 44100), (32000, 24000), (11025, 8000)]


@pytest.mark.parametrize("rates", RATES, ids=lambda r: f"{r[0]}-{r[1]}")
@pytest.mark.parametrize("parameters", [{}, dict(Width=16, Rolloff=0.85), dict(Method=SINC_KAISER),
                                        dict(Method=SINC_KAISER, Width=64, Rolloff=0.9475937167399596, Beta=14.769656459379492)],
                         ids=["hann", "hann16", "kaiser", "kaiser_best"])
def test_resample_is_torchaudios(torchaudio, audio, tmp_path, rates, parameters):
    x = signal(2, 3 * rates[0] + 17, rates[0])
    want = torchaudio.functional.resample(
        torch.from_numpy(x), *rates, lowpass_filter_width=parameters.get("Width", 6), rolloff=parameters.get("Rolloff", 0.99),
        resampling_method="sinc_interp_kaiser" if parameters.get("Method") else "sinc_interp_hann", beta=parameters.get("Beta")).numpy()
    got = audio.row(write_wav(tmp_path / "a.wav", x, rates[0]), Rate=rates[1], Channels=2, Length=want.shape[1], Resample=parameters)
    assert audio.info["samples"] == want.shape[1]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rates", RATES, ids=lambda r: f"{r[0]}-{r[1]}")
@pytest.mark.parametrize("parameters", [{}, dict(Method=SINC_KAISER, Width=16, Rolloff=0.85)], ids=["hann", "kaiser"])
def test_resample_by_filters_of_doubles_is_that_of_the_transform(torchaudio, audio, tmp_path, rates, parameters):
    x = signal(2, rates[0] + 331, rates[0])
    theirs = dict(lowpass_filter_width=16, rolloff=0.85, resampling_method="sinc_interp_kaiser") if parameters else {}
    want = torchaudio.transforms.Resample(*rates, **theirs)(torch.from_numpy(x)).numpy()
    got = audio.row(write_wav(tmp_path / "a.wav", x, rates[0]), Rate=rates[1], Channels=2, Length=want.shape[1], Resample={**parameters, "Doubles": True})
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("rate", [16000, 44100, 48000])
def test_loudness_is_torchaudios(torchaudio, audio, tmp_path, channels, rate):
    x = 0.3 * signal(channels, 4 * rate, rate)
    measured = torchaudio.functional.loudness(torch.from_numpy(x), rate).item()
    got = audio.row(write_wav(tmp_path / "a.wav", x, rate), Channels=channels, Length=x.shape[1], Normalize=dict(To=INTEGRATED, Level=-30))
    np.testing.assert_allclose(got, x * 10 ** ((-30 - measured) / 20), rtol=0, atol=1e-4)


SPECTRA = {
    "default": ({}, {}),
    "whisper": (dict(FFT=400, Hop=160), dict(n_fft=400, hop_length=160)),
    "512": (dict(FFT=512, Win=400, Hop=160), dict(n_fft=512, win_length=400, hop_length=160)),
    "1024 magnitude": (dict(FFT=1024, Magnitude=True), dict(n_fft=1024, power=1.0)),
    "inside, unit": (dict(FFT=320, Inside=True, Unit=True), dict(n_fft=320, center=False, normalized=True)),
    "odd": (dict(FFT=405, Hop=101), dict(n_fft=405, hop_length=101)),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_spectrogram_is_torchaudios(torchaudio, audio, tmp_path, name):
    ours, theirs = SPECTRA[name]
    x = signal(1, 48001, 16000)
    want = torchaudio.transforms.Spectrogram(**theirs)(torch.from_numpy(x))[0].numpy()
    got = audio.row(write_wav(tmp_path / "a.wav", x, 16000), Rate=16000, Channels=1, Length=x.shape[1], Features=dict(Kind=SPECTROGRAM, **ours))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6 * want.max())


MELS = {
    "default": ({}, {}),
    "80 slaney": (dict(FFT=400, Hop=160, Mels=80, Scale=1, SlaneyNorm=True), dict(n_fft=400, hop_length=160, n_mels=80, mel_scale="slaney", norm="slaney")),
    "64 of 1024, 50 to 7000 Hz": (dict(FFT=1024, Hop=256, Mels=64, Low=50, High=7000), dict(n_fft=1024, hop_length=256, n_mels=64, f_min=50, f_max=7000)),
    "magnitude": (dict(FFT=512, Mels=40, Magnitude=True), dict(n_fft=512, n_mels=40, power=1.0)),
}


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("name", MELS)
@pytest.mark.parametrize("log", [LINEAR, DECIBEL, NATURAL], ids=["linear", "dB", "ln"])
def test_mel_is_torchaudios(torchaudio, audio, tmp_path, name, log, channels):
    ours, theirs = MELS[name]
    x = signal(channels, 48001, 16000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transform = torchaudio.transforms.MelSpectrogram(16000, **theirs)
    compress = {
        LINEAR: lambda v: v, NATURAL: lambda v: torch.log(v + 1e-6),
        DECIBEL: torchaudio.transforms.AmplitudeToDB("magnitude" if "power" in theirs else "power", top_db=80),
    }[log]
    want = compress(transform(torch.from_numpy(x)))
    exact = compress(transform.double()(torch.from_numpy(x).double())).numpy()
    top = 80 if log == DECIBEL else 0
    got = audio.row(write_wav(tmp_path / "a.wav", x, 16000), Rate=16000, Channels=channels, Length=x.shape[1],
                    Features=dict(Kind=MEL, Log=log, TopDB=top, **ours))
    if channels == 1:
        want, exact = want[0], exact[0]
    if log == LINEAR:
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-7 * want.numpy().max())
    elif log == DECIBEL:
        assert_logarithms(got, want.numpy(), exact)
    else:
        per_db = np.log(10) / (20 if "power" in theirs else 10)
        assert_logarithms(got, want.numpy(), exact, per_db)


FBANKS = {
    "default": ({}, {}),
    "AST": (dict(Mels=128, Window=1), dict(num_mel_bins=128, window_type="hanning")),
    "int16, hamming": (dict(Int16=True, Window=2), dict(window_type="hamming")),
    "40 of 512 by 128, 60 to 7000 Hz": (dict(Mels=40, Win=512, Hop=128, Low=60, High=7000),
                                        dict(num_mel_bins=40, frame_length=32, frame_shift=8, low_freq=60, high_freq=7000)),
    "mirrored edges": (dict(Mirrored=True), dict(snip_edges=False)),
    "mirrored edges, 25 ms by 30": (dict(Mirrored=True, Win=400, Hop=480), dict(snip_edges=False, frame_shift=30)),
}


def rounded_mels(hz):
    """torchaudio's mel_scale with the nearest float32 of each logarithm. torch's own is the one beside it for some bins, for others on another processor."""
    return 1127.0 * (1.0 + hz / 700.0).double().log().float()


@pytest.mark.parametrize("name", FBANKS)
def test_fbank_is_torchaudios(torchaudio, audio, tmp_path, name, monkeypatch):
    from torchaudio.compliance import kaldi
    from torchaudio.compliance.kaldi import fbank

    ours, theirs = FBANKS[name]
    x = signal(1, 48001, 16000)
    wave = torch.from_numpy(x) * (32768 if ours.get("Int16") else 1)
    options = {"num_mel_bins": 80, "sample_frequency": 16000, **theirs}
    want, exact = fbank(wave, **options).T.numpy(), fbank(wave.double(), **options).T.numpy()
    monkeypatch.setattr(kaldi, "mel_scale", rounded_mels)
    exact_here = fbank(wave.double(), **options).T.numpy()
    got = audio.row(write_wav(tmp_path / "a.wav", x, 16000), Rate=16000, Channels=1, Length=x.shape[1], Features=dict(Kind=FBANK, **ours))
    assert got.shape == want.shape
    assert_logarithms(got, want, exact, np.log(10) / 10, exact_here)


@pytest.mark.parametrize("log", [DECIBEL, NATURAL], ids=["dB", "ln"])
@pytest.mark.parametrize("ours, theirs, n", [({}, {}, 40), (dict(FFT=512, Hop=160, Mels=64, Coefficients=20), dict(n_fft=512, hop_length=160, n_mels=64), 20)])
def test_mfcc_is_torchaudios(torchaudio, audio, tmp_path, log, ours, theirs, n):
    x = signal(1, 48001, 16000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = torchaudio.transforms.MFCC(16000, n_mfcc=n, log_mels=log == NATURAL, melkwargs=theirs)(torch.from_numpy(x))[0].numpy()
    got = audio.row(write_wav(tmp_path / "a.wav", x, 16000), Rate=16000, Channels=1, Length=x.shape[1], Features=dict(Kind=MFCC, Log=log, **ours))
    off = np.abs(got - want)  # sums of all bands of a step, with their noise
    assert (off > 1e-4).mean() < 1e-3, f"{(off > 1e-4).sum()} of {off.size} are more than 1e-4 off"
    assert off.max() < 3e-3
    assert np.sqrt((off**2).mean()) < 2e-5


def uniforms(operation, block, seed=0, epoch=0, index=0):
    """The two numbers that core/media/philox.c has at an address."""
    c, k = [index, 0, epoch, operation << 24 | block], [seed, 0]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return [((c[i] >> 5) * 2**26 + (c[i + 1] >> 6)) / 2**53 for i in (0, 2)]


NOISE, GAIN, FREQUENCY_MASK, TIME_MASK = 18, 19, 21, 22  # core/media/audio's operations


@pytest.mark.parametrize("rate", [16000, 44100, 22050])
@pytest.mark.parametrize("factor", [0.9, 1.1, 0.95, 1.0, 2.0])
def test_speed_is_torchaudios(torchaudio, audio, tmp_path, rate, factor):
    x = signal(2, rate + 7, rate)
    want, lengths = torchaudio.transforms.Speed(rate, factor)(torch.from_numpy(x), torch.tensor([x.shape[1]]))
    got = audio.row(write_wav(tmp_path / "a.wav", x, rate), Channels=2, Length=want.shape[1], Speed=[factor])
    assert audio.info["samples"] == want.shape[1] == lengths.item()
    np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("colour", [0, 1, 2], ids=["white", "pink", "brown"])
def test_noise_is_added_as_torchaudio_adds_it(torchaudio, audio, tmp_path, colour):
    x = signal(3, 20000, 16000)
    path = write_wav(tmp_path / "a.wav", x, 16000)
    for index in range(5):
        draw = dict(Seed=3, Index=index)
        snr = 5 + 20 * uniforms(NOISE, 0, seed=3, index=index)[1]
        got = audio.row(path, draw=draw, Channels=3, Length=20000, Noise=dict(Low=5, High=25, P=1, Colour=colour))
        noise = torch.from_numpy(np.float64(got) - x)  # of whatever size: add_noise scales it
        want = torchaudio.functional.add_noise(torch.from_numpy(x).double(), 3 * noise, torch.full((3,), snr).double())
        np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-5)


def test_a_sound_is_added_as_torchaudio_adds_noise(torchaudio, audio, tmp_path):
    """A longer one, a shorter one that is repeated, and one at another rate, with torchaudio's resampling and add_noise."""
    x = signal(2, 20000, 16000)
    path = write_wav(tmp_path / "a.wav", x, 16000)
    for seed, (frames, rate) in enumerate([(50000, 16000), (3000, 16000), (90001, 44100), (4000, 8000)]):
        y = signal(2, frames, rate, seed=seed + 5)
        other = [str(write_wav(tmp_path / f"{seed}.wav", y, rate))]
        y = torchaudio.functional.resample(torch.from_numpy(y), rate, 16000).double()
        for index in range(4):
            draw = dict(Seed=3, Index=index)
            snr, place = 5 + 20 * uniforms(NOISE, 0, seed=3, index=index)[1], uniforms(NOISE, 2, seed=3, index=index)[1]
            n = y.shape[1]
            first = int(place * (n - 20000 + 1 if n >= 20000 else n))
            noise = y.repeat(1, 20000 // n + 2)[:, first:first + 20000]
            want = torchaudio.functional.add_noise(torch.from_numpy(x).double(), noise, torch.full((2,), snr).double())
            got = audio.row(path, draw=draw, Rate=16000, Channels=2, Length=20000, Noise=dict(Low=5, High=25, P=1, From=other))
            np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("taps", [1, 700, 8000, 30000])
def test_reverb_is_torchaudios_fftconvolve(torchaudio, audio, tmp_path, taps):
    """As torchaudio's tutorial has it: a response of norm 1; from its loudest sample on, as Kaldi's wav-reverberate has it."""
    x = signal(2, 20000, 16000)
    h = np.random.default_rng(taps).normal(size=(1, taps)).astype(np.float32) * np.exp(-np.arange(taps) / (taps / 6 + 1), dtype=np.float32)
    path, rooms = write_wav(tmp_path / "a.wav", x, 16000), [str(write_wav(tmp_path / "h.wav", h, 16000))]
    got = audio.row(path, Rate=16000, Channels=2, Length=20000, Reverb=dict(P=1, From=rooms))
    h = torch.from_numpy(h)
    whole = torchaudio.functional.fftconvolve(torch.from_numpy(x), (h / torch.linalg.vector_norm(h, ord=2)).expand(2, -1))
    peak = h.abs().argmax().item()
    np.testing.assert_allclose(got, whole[:, peak:peak + 20000].numpy(), rtol=0, atol=1e-4)


def test_gain_and_preemphasis_are_torchaudios(torchaudio, audio, tmp_path):
    x = signal(2, 5000, 16000)
    db = -6 + 12 * uniforms(GAIN, 0)[1]
    want = torchaudio.functional.preemphasis(torchaudio.functional.gain(torch.from_numpy(x), db), 0.97)
    got = audio.row(write_wav(tmp_path / "a.wav", x, 16000), Channels=2, Length=5000, Gain=dict(Low=-6, High=6, P=1), PreEmphasis=0.97)
    np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-6)


class Drawn:
    """What torch.rand gives in its place: one of the two numbers of the next mask's, of one channel or of each."""

    def __init__(self, operation, iid, channels, index):
        blocks = [[(64 * c if iid else 0) + i for c in range(channels)] for i in range(10)]
        self.values = [[uniforms(operation, b, index=index)[k] for b in of] for of in blocks for k in (0, 1)]

    def __call__(self, *size, **_):
        values = self.values.pop(0)
        return torch.tensor(values if size != (1,) else values[:1], dtype=torch.float64)


@pytest.mark.parametrize("iid", [False, True], ids=["alike", "iid"])
@pytest.mark.parametrize("p", [1.0, 0.2])
def test_masks_are_torchaudios(torchaudio, audio, tmp_path, monkeypatch, iid, p):
    x = signal(2, 48000, 16000)
    path = write_wav(tmp_path / "a.wav", x, 16000)
    plain = dict(Kind=MEL, FFT=400, Hop=160, Mels=40, Log=NATURAL)
    mel = audio.row(path, Rate=16000, Channels=2, Length=48000, Features=plain)
    for index in range(20):
        want = torch.from_numpy(mel.copy())
        mean = want.double().mean().item()
        for operation, transform in [(TIME_MASK, torchaudio.transforms.TimeMasking(100, iid_masks=iid, p=p)),
                                     (FREQUENCY_MASK, torchaudio.transforms.FrequencyMasking(27, iid_masks=iid))]:
            with monkeypatch.context() as patched:
                patched.setattr(torch, "rand", Drawn(operation, iid, 2, index))
                want = transform(transform(want, mean), mean)
        masks = dict(TimeMask=dict(Param=100, Count=2, P=p, IID=iid), FrequencyMask=dict(Param=27, Count=2, IID=iid), MaskMean=True)
        got = audio.row(path, draw=dict(Index=index), Rate=16000, Channels=2, Length=48000, Features={**plain, **masks})
        np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-5)
