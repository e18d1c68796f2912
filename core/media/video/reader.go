//go:build !noffmpeg

package video

import (
	"fmt"
	"io"
	"time"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/tensor"
)

// Reader decodes the chosen frames of one video in chunks, so that a long one takes
// no more memory than a chunk and its index. It belongs to one goroutine at a time.
type Reader struct {
	w      *Worker
	src    Source
	chunk  int
	chosen int    // frames, unless a filter says
	done   int    // of them delivered
	chunks int    // delivered
	before int    // frames that a device decoded until it failed
	part   []slot // places of a decoded frame that the last chunk had no room for
	draw   Draw
	failed error // at a chunk: there are no more
}

// Open chooses the frames of src, for rows of cfg.Frames frames at a time, or where
// that is 0 all of them at once. Where cfg.Image names no size a frame is as large as
// the video, or the filter, shows it. A selection must name frames in rising order,
// unless one chunk holds them all. src must stay until Close.
func Open(cfg Config, src Source, draw Draw) (*Reader, error) {
	return OpenSized(cfg, src, draw, func(shown media.Size) (media.Config, error) {
		if cfg.Image.Out == (media.Size{}) && cfg.Image.Resize == (media.Size{}) {
			cfg.Image.Out = shown
		}
		return cfg.Image, nil
	})
}

// OpenSized is Open for frames that hang on the size in which they are shown: sized
// is told it, and says cfg.Image.
func OpenSized(cfg Config, src Source, draw Draw, sized func(shown media.Size) (media.Config, error)) (*Reader, error) {
	w, err := unsized(cfg)
	if err != nil {
		return nil, err
	}
	r := &Reader{w: w, src: src, chunk: cfg.Frames, draw: draw}
	if r.chunk > 0 && src.Path != "" {
		w.keep = 0 // the point is not to hold the file
	}
	if err := r.start(cfg, sized); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// unsized is a worker that has yet to be told how large the frames are.
func unsized(cfg Config) (*Worker, error) {
	cfg.Frames, cfg.Scaler = MaxFrames, Pillow
	cfg.Image = media.Config{Out: media.Square(1), MaxPixels: cfg.Image.MaxPixels}
	op, err := Compile(cfg)
	if err != nil {
		return nil, err
	}
	return op.NewWorker()
}

func (r *Reader) start(cfg Config, sized func(media.Size) (media.Config, error)) error {
	w, began := r.w, time.Now()
	shown, err := r.choose()
	if r.leavesDevice(err) {
		w.spent = time.Since(began)
		shown, err = r.choose()
	}
	if err != nil {
		return err
	}
	r.chosen = len(w.picked)
	if cfg.Image, err = sized(shown); err != nil {
		return err
	}
	if r.chunk == 0 {
		r.chunk = max(r.Len(), 1)
	}
	cfg.Frames = r.chunk
	op, err := compile(cfg)
	if err != nil {
		return err
	}
	op.device, w.op = w.op.device, op
	if err := r.checkOrder(); err != nil || w.filter.is() || cfg.Approximate {
		return err
	}
	return w.plan(0)
}

// choose opens the source and chooses its frames, and says in which size they are shown.
func (r *Reader) choose() (media.Size, error) {
	if err := r.w.begin(r.src, r.draw); err != nil {
		return media.Size{}, err
	}
	if r.w.filter.is() {
		return r.filtered()
	}
	shown := r.w.shownSize(r.w.op.cfg.AsSent)
	if shown.W <= 0 || shown.H <= 0 {
		return shown, av.NewError("video", av.StatusCorrupt, "no key frame says how large the frames are")
	}
	return shown, nil
}

// leavesDevice reports whether err is the device's and the processor goes on in its place, as auto has it: the source is closed then.
func (r *Reader) leavesDevice(err error) bool {
	w := r.w
	if w.op.cfg.Hardware != Auto || w.offDevice || !deviceFailed(err) {
		return false
	}
	r.before = w.info().Decoded
	w.kept, w.file = w.file, nil // the very same file goes on, whatever its name means by now
	w.end()
	w.offDevice = true
	return true
}

// filtered is the size of the first frame that comes out of the filter; where one
// chunk is to hold all of them, all have then.
func (r *Reader) filtered() (media.Size, error) {
	w := r.w
	var err error
	if r.chunk == 0 {
		err = w.keepAll()
	} else {
		err = w.beginFilter()
	}
	if err == nil {
		err = w.look()
	}
	if err != nil {
		return media.Size{}, err
	}
	frame := w.filter.coming.frame
	if frame == nil {
		return media.Size{}, errNothing
	}
	return media.Size{H: int(frame.height), W: int(frame.width)}, nil
}

// checkOrder refuses what does not come in chunks.
func (r *Reader) checkOrder() error {
	picked := r.w.picked
	if len(picked) <= r.chunk {
		return nil
	}
	if r.w.op.cfg.Approximate {
		return fmt.Errorf("video: reader: approximate gives one chunk alone, but %d frames were chosen for chunks of %d; use an index", len(picked), r.chunk)
	}
	for i := 1; i < len(picked); i++ {
		if picked[i] < picked[i-1] {
			return cannot("frame %d comes after frame %d; chunks give frames in rising order alone", picked[i], picked[i-1])
		}
	}
	return nil
}

// shownSize is the size of a frame after turning.
func (w *Worker) shownSize(asSent bool) media.Size {
	s := media.Size{H: int(w.stream.height), W: int(w.stream.width)}
	if !asSent && w.stream.orientation >= 5 {
		s.H, s.W = s.W, s.H
	}
	return s
}

// Len is how many frames there are to come in all; -1: of a filter in chunks only
// the end tells.
func (r *Reader) Len() int {
	switch f := &r.w.filter; {
	case !f.is():
		return len(r.w.picked)
	case f.whole:
		return len(f.kept)
	}
	return -1
}

// More reports whether frames follow those that Next has given.
func (r *Reader) More() bool {
	if r.w.filter.is() {
		return r.w.filter.coming.frame != nil
	}
	return r.done < r.Len()
}

// Stream is what the container says of the stream.
func (r *Reader) Stream() Stream { return r.w.describe() }

// Op describes the rows: its Frames are a chunk's.
func (r *Reader) Op() *Op { return r.w.op }

// Next fills dst with the next chunk: Info.Frames of them, fewer only in the last.
// After that it returns io.EOF, and after an error that error. Each chunk has the budget of time of a sample: what
// passes between them does not count. Where a device fails at a chunk, and cfg.Hardware is Auto, the processor decodes from there on.
func (r *Reader) Next(dst Row) (Info, error) {
	if err := r.w.op.checkRow(&dst); err != nil {
		return Info{}, err
	}
	if r.failed != nil {
		return Info{}, r.failed
	}
	r.w.allow(r.w.op.cfg.Budget)
	info, err := r.next(dst)
	if r.leavesDevice(err) {
		if err = r.resume(dst); err == nil {
			info, err = r.next(dst)
		}
	}
	if err == nil {
		r.chunks++
	} else if err != io.EOF {
		r.failed = err
	}
	return info, err
}

// resume opens the source again and goes to the chunk at which the device failed. What a filter gives hangs on all frames before, which go through it
// once more: dst has them meanwhile. Opening has the time of a sample, as the first time.
func (r *Reader) resume(dst Row) error {
	w := r.w
	if _, err := r.choose(); err != nil {
		return err
	}
	w.allow(w.op.cfg.Budget)
	if w.filter.is() {
		for range r.chunks {
			if _, err := r.nextFiltered(dst); err == io.EOF {
				return errChanged
			} else if err != nil {
				return err
			}
			w.allow(w.op.cfg.Budget)
		}
		return nil
	}
	if len(w.picked) != r.chosen {
		return errChanged
	}
	if w.op.cfg.Approximate {
		return nil
	}
	r.part = nil
	return w.plan(r.done)
}

var errChanged = av.NewError("video", av.StatusCorrupt, "the device failed, and the video is another one by now")

func (r *Reader) next(dst Row) (Info, error) {
	if r.w.filter.is() {
		return r.nextFiltered(dst)
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
	info := r.info(n)
	if err == nil {
		r.done += n
	}
	return info, err
}

// info is about a chunk of n frames.
func (r *Reader) info(n int) Info {
	info := r.w.info()
	info.Frames = n
	info.Decoded += r.before
	return info
}

func (r *Reader) nextFiltered(dst Row) (Info, error) {
	n, err := r.w.through(dst, r.chunk, true, r.draw.media())
	if n == 0 && err == nil {
		return Info{}, io.EOF
	}
	r.w.clearAfter(dst, n)
	info := r.info(n)
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
