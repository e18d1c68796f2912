package load

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// sounding is a description of sounds, compiled. It is shared, and never written.
type sounding struct {
	config   audio.Config
	features *audio.Features // config's; of op where it has them already
	op       *audio.Op
	open     bool // the length is the sound's own
	kept     bool // for the next sound
}

var soundings = recent[*recipe, *sounding]{most: mostRecipes}

// sounding is the description compiled as far as no sound is known. What a second data set has is looked up each time.
func (r *recipe) sounding() (*sounding, error) {
	a := r.sample.Audio
	keep := a.Noise == nil && a.Reverb == nil
	return soundings.of(r, keep, func() (*sounding, error) {
		config, err := AudioConfig(a, "audio")
		if err != nil {
			return nil, err
		}
		s := &sounding{config: config, features: config.Features, open: config.Length == 0 || a.Shape == spec.Ragged, kept: keep}
		if s.features != nil && config.Rate == 0 {
			if err := config.CheckFeatures(); err != nil {
				return nil, err
			}
			s.config.Features = nil // the sound's own rate is not known yet
		}
		s.op, err = audio.Compile(s.config)
		return s, err
	})
}

// quiet are workers without a sound, of whatever op, the one that worked last at the end: at most one a processor. A new one has to make its buffers, which
// takes longer than a short sound.
var quiet struct {
	sync.Mutex
	all []listener
}

type listener struct {
	op     *audio.Op
	worker *audio.Worker
	again  bool // there may be more sounds of the op
}

// mostHeard is how long a sound may be, in samples of all channels, whose worker is kept: its buffers have a few times 4 bytes for each.
const mostHeard = 1 << 18

func listenerOf(op *audio.Op, again bool) (listener, error) {
	quiet.Lock()
	for i := len(quiet.all) - 1; i >= 0; i-- {
		if l := quiet.all[i]; l.op == op {
			quiet.all = slices.Delete(quiet.all, i, i+1)
			quiet.Unlock()
			return l, nil
		}
	}
	quiet.Unlock()
	w, err := op.NewWorker()
	return listener{op, w, again}, err
}

// rest keeps the worker behind a sound that became samples of so many channels, all in all.
func (l listener) rest(err error, info audio.Info, samples int) {
	heard := info.Frames * int64(info.Channels)
	if err != nil || !l.again || heard < 0 || heard > mostHeard || samples > mostHeard {
		l.worker.Close()
		return
	}
	quiet.Lock()
	quiet.all = append(quiet.all, l)
	var over []listener
	if n := len(quiet.all) - runtime.GOMAXPROCS(0); n > 0 {
		over = slices.Clone(quiet.all[:n])
		quiet.all = slices.Delete(quiet.all, 0, n)
	}
	quiet.Unlock()
	for _, l := range over {
		l.worker.Close()
	}
}

func (l *loading) audio(r *recipe) (*Media, error) {
	from, err := l.source.reached()
	if err != nil {
		return nil, err
	}
	defer from.close()
	m, err := l.wave(r, from.audio())
	return m, from.cause(err)
}

// wave decodes a sound. One whose length (a ragged one's is what it may be at most), channels or, for features, rate the description leaves open is decoded
// once to know them; the second time, for another type, layout or features, into the row that fits.
func (l *loading) wave(r *recipe, src audio.Source) (*Media, error) {
	s, err := r.sounding()
	if err != nil {
		return nil, err
	}
	config := s.config
	if p := src.Packets; p != nil {
		if src.Window, err = soundWindow(p, config.Window); err != nil {
			return nil, err
		}
	}
	if s.op.Fixed() && !s.open && config.Features == s.features {
		return l.sound(s.op, src, config.Rate, s.kept)
	}
	listener, err := listenerOf(s.op, s.kept)
	if err != nil {
		return nil, err
	}
	asIs := s.features == nil && config.DType == tensor.F32 && config.Layout == audio.ChannelsFirst && s.open
	var t Tensor
	wave, info, err := listener.worker.Wave(src, audio.Draw{})
	if err == nil && asIs {
		t, err = l.tensor("audio", tensor.F32, tensor.Shape{int64(wave.Channels), int64(wave.Frames)})
		copy(t.Data, floatBytes(wave.Data))
	}
	listener.rest(err, info, len(wave.Data))
	if err != nil || asIs {
		return &Media{[]Tensor{t}, soundInfo{info, wave.Rate}}, err
	}
	config.Channels, config.Rate, config.Features = wave.Channels, wave.Rate, s.features
	if s.open {
		config.Length = wave.Frames
		config.FitTimeMask()
	}
	op, err := audio.Compile(config)
	if err != nil {
		return nil, err
	}
	return l.sound(op, src, config.Rate, false)
}

// soundInfo says what a sound was made of, and the rate it has now.
type soundInfo struct {
	audio.Info
	SampleRate int `json:"sample_rate"`
}

// sound is a row of op, of which there may be more sounds or not, and whose rate is that of the file where it is 0.
func (l *loading) sound(op *audio.Op, src audio.Source, rate int, again bool) (*Media, error) {
	listener, err := listenerOf(op, again)
	if err != nil {
		return nil, err
	}
	t, err := l.tensor("audio", op.DType(), op.Shape())
	if err != nil {
		listener.worker.Close()
		return nil, err
	}
	info, err := listener.worker.Decode(audio.Row{Data: t.Data}, src, audio.Draw{})
	listener.rest(err, info, len(t.Data)/4)
	if rate == 0 {
		rate = info.Rate
	}
	return &Media{[]Tensor{t}, soundInfo{info, rate}}, err
}

// floatBytes sees numbers as their bytes.
func floatBytes(f []float32) []byte {
	if len(f) == 0 || len(f) > math.MaxInt/4 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f))
}
