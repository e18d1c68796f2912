package audio

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"sync"
)

// DefaultKeptBytes is what sounds that are mixed into rows take at most.
const DefaultKeptBytes = 256 << 20

// Files are the sounds of a second data set, in files.
type Files struct {
	From      []string
	KeptBytes int64 // of decoded ones, in memory; 0: DefaultKeptBytes
}

func (cfg *Config) checkFiles(key string, f *Files) error {
	if len(f.From) > 0 && cfg.Rate == 0 {
		return wrong("rate", "is missing, and %s of files needs one", key)
	}
	if f.KeptBytes < 0 {
		return wrong(key+".memory_bytes", "got %d, want 1 or more", f.KeptBytes)
	}
	return nil
}

// sounds are files that are mixed into rows. Each is decoded as a whole, at the rows' rate, when it is drawn; those that were drawn last
// are kept. What is kept decides how long a row takes, and nothing else. Workers share them.
type sounds struct {
	paths    []string
	channels int             // of the rows; 0: as each has
	one      func(Wave) Wave // what is taken of one of other channels
	check    func(Wave) error
	most     int64
	op       *Op

	mu    sync.Mutex // guards what follows, and used of each
	kept  map[int]*list.Element
	used  *list.List // of *sound; the last first
	bytes int64      // of those that are counted
}

// sound is one of them.
type sound struct {
	at      int
	counted bool // in bytes

	mu   sync.Mutex // held by who decodes it
	done bool
	wave Wave
	err  error
}

// newSounds is nil of no files.
func (op *Op) newSounds(f *Files, one func(Wave) Wave, check func(Wave) error) (*sounds, error) {
	if len(f.From) == 0 {
		return nil, nil
	}
	cfg := &op.cfg
	plain, err := Compile(Config{Rate: cfg.Rate, Resample: cfg.Resample, MaxFrames: cfg.MaxFrames, Budget: cfg.Budget})
	return &sounds{
		paths: f.From, channels: op.channels, one: one, check: check, most: cmp.Or(f.KeptBytes, DefaultKeptBytes), op: plain,
		kept: map[int]*list.Element{}, used: list.New(),
	}, err
}

// get is a sound of as many channels as the rows have, or of one. It is not to be changed.
func (s *sounds) get(at int) (Wave, error) {
	one := s.entry(at)
	err := one.decoded(s)
	s.settle(one, err)
	return one.wave, err
}

// decoded decodes it once, for all who wait for it.
func (o *sound) decoded(s *sounds) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done {
		o.wave, o.err = s.decode(o.at)
		o.done = true
	}
	return o.err
}

func (s *sounds) entry(at int) *sound {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.kept[at]; e != nil {
		s.used.MoveToFront(e)
		return e.Value.(*sound)
	}
	one := &sound{at: at}
	s.kept[at] = s.used.PushFront(one)
	return one
}

// settle counts what one takes, and lets go of those that were not used for longest where that is too much. One that failed is tried again.
func (s *sounds) settle(one *sound, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.kept[one.at]
	if e == nil || e.Value != one {
		return
	}
	if err != nil {
		s.drop(e)
		return
	}
	if !one.counted {
		one.counted = true
		s.bytes += one.size()
	}
	for s.bytes > s.most {
		s.drop(s.used.Back())
	}
}

func (s *sounds) drop(e *list.Element) {
	one := s.used.Remove(e).(*sound)
	delete(s.kept, one.at)
	if one.counted {
		s.bytes -= one.size()
	}
}

func (o *sound) size() int64 { return 4 * int64(len(o.wave.Data)) }

func (s *sounds) decode(at int) (Wave, error) {
	w, err := s.op.NewWorker()
	if err != nil {
		return Wave{}, err
	}
	defer w.Close()
	wave, info, err := w.Wave(Source{Path: s.paths[at]}, Draw{})
	if err == nil && wave.Frames == 0 {
		err = &Error{Format: info.Format, cause: CauseNoFrames}
	}
	if err == nil {
		err = s.check(wave)
	}
	if err != nil {
		return Wave{}, s.failed(at, err)
	}
	if wave.Channels != s.channels && wave.Channels > 1 && s.channels > 0 {
		wave = s.one(wave)
	}
	wave.Data = append([]float32(nil), wave.Data[:wave.Channels*wave.Frames]...)
	return wave, nil
}

// first is the first channel.
func (w Wave) first() Wave {
	w.Channels = 1
	return w
}

// anySound is no check.
func anySound(Wave) error { return nil }

// mean is the mean of the channels, in the memory of the first.
func (w Wave) mean() Wave {
	for i := range w.Frames {
		sum := float32(0)
		for c := range w.Channels {
			sum += w.Data[c*w.Frames+i]
		}
		w.Data[i] = sum / float32(w.Channels)
	}
	w.Channels = 1
	return w
}

// failed says of which sound an error is.
func (s *sounds) failed(at int, err error) error {
	var of *Error
	if !errors.As(err, &of) {
		return err
	}
	return &Error{cause: of.cause, err: of.err, Detail: fmt.Sprintf("%q, a sound that is mixed in: %v", s.paths[at], err)}
}

// channel is what row channel c takes: its own, or the only one.
func (w *Wave) channel(c int) []float32 {
	if w.Channels == 1 {
		c = 0
	}
	return w.Data[c*w.Frames:][:w.Frames]
}

// excerpt is n frames of a sound from one that is drawn on; where it is shorter, it begins again.
type excerpt struct {
	wave Wave
	from int64
}

// draw takes the sound by u and where it begins by v, both from [0, 1).
func (s *sounds) draw(u, v float64, n int64) (excerpt, error) {
	wave, err := s.get(int(u * float64(len(s.paths))))
	begins := int64(wave.Frames) - n + 1 // places where it does
	if begins < 1 {
		begins = int64(wave.Frames)
	}
	return excerpt{wave, int64(v * float64(begins))}, err
}

// channel is what row channel c hears.
func (e excerpt) channel(c int, to []float32) {
	x := e.wave.channel(c)
	for n := copy(to, x[e.from:]); n < len(to); {
		n += copy(to[n:], x)
	}
}
