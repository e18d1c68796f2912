//go:build !noffmpeg

package video

import (
	"fmt"
	"io"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/tensor"
)

// Reader decodes the chosen frames of one video in chunks, so that a long one takes
// no more memory than a chunk and its index. It belongs to one goroutine at a time.
type Reader struct {
	w     *Worker
	chunk int
	done  int    // chosen frames delivered
	part  []slot // places of a decoded frame that the last chunk had no room for
	draw  Draw
}

// Open chooses the frames of src, for rows of cfg.Frames frames at a time, or where
// that is 0 all of them at once. Where cfg.Image names no size a frame is as large as
// the video shows it. A selection must name frames in rising order, unless one chunk
// holds them all. src must stay until Close.
func Open(cfg Config, src Source, draw Draw) (*Reader, error) {
	first := cfg
	first.Frames = MaxFrames
	if first.Image.Out == (media.Size{}) && first.Image.Resize == (media.Size{}) {
		first.Image.Out = media.Square(1) // until the video tells
	}
	op, err := Compile(first)
	if err != nil {
		return nil, err
	}
	w, err := op.NewWorker()
	if err != nil {
		return nil, err
	}
	r := &Reader{w: w, chunk: cfg.Frames, draw: draw}
	if r.chunk > 0 && src.Path != "" {
		w.keep = 0 // the point is not to hold the file
	}
	if err := r.start(cfg, src); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) start(cfg Config, src Source) error {
	w := r.w
	if err := w.begin(src, r.draw); err != nil {
		return err
	}
	if cfg.Image.Out == (media.Size{}) && cfg.Image.Resize == (media.Size{}) {
		cfg.Image.Out = w.shownSize(cfg.AsSent)
	}
	if r.chunk == 0 {
		r.chunk = max(len(w.picked), 1)
	}
	cfg.Frames = r.chunk
	op, err := Compile(cfg)
	if err != nil {
		return err
	}
	w.op = op
	if cfg.Approximate {
		if len(w.picked) > r.chunk {
			return fmt.Errorf("video: reader: approximate gives one chunk alone, but %d frames were chosen for chunks of %d; use an index", len(w.picked), r.chunk)
		}
		return nil
	}
	for i := 1; i < len(w.picked) && len(w.picked) > r.chunk; i++ {
		if w.picked[i] < w.picked[i-1] {
			return cannot("frame %d comes after frame %d; chunks give frames in rising order alone", w.picked[i], w.picked[i-1])
		}
	}
	return w.plan()
}

// shownSize is the size of a frame after turning.
func (w *Worker) shownSize(asSent bool) media.Size {
	s := media.Size{H: int(w.stream.height), W: int(w.stream.width)}
	if !asSent && w.stream.orientation >= 5 {
		s.H, s.W = s.W, s.H
	}
	return s
}

// Len is how many frames were chosen.
func (r *Reader) Len() int { return len(r.w.picked) }

// Op describes the rows: its Frames are a chunk's.
func (r *Reader) Op() *Op { return r.w.op }

// Next fills dst with the next chunk: Info.Frames of them, fewer only in the last.
// After that it returns io.EOF.
func (r *Reader) Next(dst Row) (Info, error) {
	if err := r.w.op.checkRow(&dst); err != nil {
		return Info{}, err
	}
	n := min(r.chunk, r.Len()-r.done)
	if n == 0 {
		return Info{}, io.EOF
	}
	var err error
	if n == r.Len() {
		err = r.w.take(dst, r.draw)
	} else {
		err = r.some(dst, n)
	}
	info := r.w.info()
	info.Frames = n
	r.done += n
	return info, err
}

// some takes the next n chosen frames. One that is chosen again in the next chunk is
// still the decoder's then.
func (r *Reader) some(dst Row, n int) error {
	w := r.w
	for placed := 0; placed < n; {
		if len(r.part) == 0 {
			s, err := w.next()
			if err != nil {
				return err
			}
			if len(s) == 0 || int(s[0].place) != r.done+placed {
				return av.NewError("video", av.StatusCorrupt, "frames come out of the decoder in another order than their times say; decode them in one chunk")
			}
			r.part = s
		}
		first := placed
		if err := w.put(dst, first, w.c.frame, r.draw.media()); err != nil {
			return err
		}
		for r.part, placed = r.part[1:], placed+1; len(r.part) > 0 && placed < n; placed++ {
			w.repeat(dst, placed, first)
			r.part = r.part[1:]
		}
	}
	w.times(dst, r.done, n)
	w.clearAfter(dst, n)
	return nil
}

// Close ends the reader.
func (r *Reader) Close() {
	r.w.end()
	r.w.Close()
}

// Clip is a decoded video in memory of its own.
type Clip struct {
	Data          []byte
	Shape         []int64
	DType         tensor.DType
	TimeAxis      int
	PTS, Duration []float64 // seconds
	Info          Info
}

// Load decodes the chosen frames of src, however many they are.
func Load(cfg Config, src Source, draw Draw) (*Clip, error) {
	cfg.Frames = 0
	r, err := Open(cfg, src, draw)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	op := r.Op()
	c := &Clip{
		Data: make([]byte, op.RowBytes()), Shape: op.Shape(), DType: op.DType(), TimeAxis: op.TimeAxis(),
		PTS: make([]float64, op.Frames()), Duration: make([]float64, op.Frames()),
	}
	c.Info, err = r.Next(Row{c.Data, c.PTS, c.Duration})
	if err == io.EOF {
		return nil, cannot("none is chosen")
	}
	return c, err
}
