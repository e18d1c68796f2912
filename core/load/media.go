package load

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// within says that part lies in whole, at an address that its elements may have.
func within(part, whole []byte, item int) bool {
	if len(part) == 0 || len(whole) == 0 {
		return false
	}
	from, at := uintptr(unsafe.Pointer(&whole[0])), uintptr(unsafe.Pointer(&part[0]))
	return at >= from && at+uintptr(len(part)) <= from+uintptr(len(whole)) && at%uintptr(item) == 0
}

func (l *loading) image(r *recipe) (*Media, error) {
	if l.source.Bytes != nil || store.IsURL(l.source.Path) {
		data, err := l.bytes()
		if err != nil {
			return nil, err
		}
		return l.pictureOf(data, r)
	}
	room, _ := files.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	data, err := l.bytesInto(*room)
	if err != nil {
		return nil, err
	}
	m, err := l.pictureOf(data, r)
	if cap(data) <= mostHeld {
		*room = data
		files.Put(room)
	}
	return m, err
}

// files are *[]byte that files of pictures were read into, of up to mostHeld bytes.
var files sync.Pool

// pictureOf is a picture of data, which are nobody's any more behind it.
func (l *loading) pictureOf(data []byte, r *recipe) (*Media, error) {
	w, err := worker()
	if err != nil {
		return nil, err
	}
	m, err := l.picture(w, data, r)
	rest(w)
	return m, err
}

// idle are workers without a picture, at most one a processor, each with up to mostHeld bytes of buffers: to make one and its buffers takes longer than a small picture.
var idle = make(chan *media.Worker, runtime.GOMAXPROCS(0))

const mostHeld = 2 << 20

func worker() (*media.Worker, error) {
	select {
	case w := <-idle:
		return w, nil
	default:
		return media.NewWorker(nil)
	}
}

func rest(w *media.Worker) {
	if w.Held() <= mostHeld {
		select {
		case idle <- w:
			return
		default:
		}
	}
	w.Close()
}

func (l *loading) picture(w *media.Worker, data []byte, r *recipe) (*Media, error) {
	seen, i := spec.Extent{Height: 1, Width: 1}, r.sample.Image
	if i.Transform.Output() == (spec.Extent{}) {
		var err error
		if seen.Height, seen.Width, err = sizeOf(w, data, i); err != nil {
			return nil, err
		}
	}
	p, err := sizing{recipe: r, seen: seen}.compiled()
	if err != nil {
		return nil, err
	}
	shape, most := slices.Clone(p.shape), p.op.Tiles()
	if most > 0 {
		shape = append(tensor.Shape{int64(most)}, shape...)
	}
	t, err := l.tensor("image", p.dtype, shape)
	if err != nil {
		return nil, err
	}
	info, err := w.Row(t.Data, data, p.op, media.Draw{})
	if err == nil && p.patches {
		clear(t.Data[info.Tiles*len(t.Data)/int(t.Shape[0]):])
		return &Media{[]Tensor{t}, tilesInfo{info, info.Grid}}, nil
	}
	if err != nil || most == 0 {
		return &Media{[]Tensor{t}, info}, err
	}
	t.Data, t.Shape[0] = t.Data[:len(t.Data)/most*info.Tiles], int64(info.Tiles)
	return &Media{[]Tensor{t}, tilesInfo{info, info.Grid}}, nil
}

// tilesInfo says what was done, and which grid of tiles or patches the picture was cut into.
type tilesInfo struct {
	media.Info
	Grid media.Grid `json:"grid"`
}

// headPixels is how many pixels a byte of a file may stand for where its head is believed before the rest was looked at: a few bytes must not ask for all the
// memory that max_pixels allows. A JPEG's sequential scan cannot say more: two bits are the least of a block of 8 x 8.
const headPixels = 256

// sizeOf is the size of a picture as it is seen: by its head, or else found by decoding its middle.
func sizeOf(w *media.Worker, data []byte, i *spec.Image) (h, width int, err error) {
	op, err := media.Look(i.Orient, uint64(i.MaxPixels))
	if err != nil {
		return 0, 0, err
	}
	if seen, ok := w.Head(data, op); ok && seen.H*seen.W <= headPixels*len(data) {
		return seen.H, seen.W, nil
	}
	info, err := w.Row(make([]byte, op.RowBytes()), data, op, media.Draw{})
	seen := info.Seen()
	return seen.H, seen.W, err
}

func (l *loading) video(s *spec.Spec) (*Media, error) {
	r, err := openVideo(s, l.source)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := l.clip(s.Video, r.Reader)
	return m, r.from.cause(err)
}

// clip is a whole video.
func (l *loading) clip(v *spec.Video, r *video.Reader) (*Media, error) {
	bounded := v.Frames > 0 && v.Over == spec.Refuse
	if bounded && r.Len() > v.Frames {
		return nil, &video.TooLargeError{Got: r.Len(), Room: v.Frames}
	}
	clip, err := l.next(r)
	if err != nil {
		return nil, err
	}
	if bounded && r.More() { // of a filter, whose frames nobody has counted
		return nil, &video.TooLargeError{Room: v.Frames}
	}
	clip.Info = videoInfo{clip.Info.(video.Info), r.Stream()}
	return clip, nil
}

// videoInfo says what was done, and what the container says of the stream.
type videoInfo struct {
	video.Info
	Stream video.Stream `json:"stream"`
}

// next is the next chunk of a video, as long as it is.
func (l *loading) next(r *video.Reader) (*Media, error) {
	op := r.Op()
	room := int64(op.Frames())
	all, row, err := l.frames(op, room)
	if err != nil {
		return nil, err
	}
	info, err := r.Next(row)
	if err != nil {
		return nil, err
	}
	if n := int64(info.Frames); n < room && op.TimeAxis() == 0 {
		for i := range all {
			all[i].Data = all[i].Data[:int64(len(all[i].Data))/room*n]
			all[i].Shape = append(tensor.Shape{n}, all[i].Shape[1:]...)
		}
	}
	return &Media{all, info}, nil
}

// frames takes memory for a row of n frames and for when they are shown.
func (l *loading) frames(op *video.Op, n int64) ([]Tensor, video.Row, error) {
	times := tensor.Shape{n}
	all, err := l.tensors(Tensor{Name: "video", DType: op.DType(), Shape: op.Shape()},
		Tensor{Name: "pts", DType: tensor.F64, Shape: times}, Tensor{Name: "duration", DType: tensor.F64, Shape: times})
	if err != nil {
		return nil, video.Row{}, err
	}
	return all, video.Row{Data: all[0].Data, PTS: batch.Float64s(all[1].Data), Duration: batch.Float64s(all[2].Data)}, nil
}

// tensors takes memory for several.
func (l *loading) tensors(all ...Tensor) ([]Tensor, error) {
	for i := range all {
		var err error
		if all[i], err = l.tensor(all[i].Name, all[i].DType, all[i].Shape); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// maxWindow is where a window without an end ends, of packets: later than any frame, in seconds.
const maxWindow = 1e12

// windowOf is the part that packets are decoded for, nil for all: what is asked for, or else what they were taken for. It refuses one that they
// were not taken for: what they lack of it would be missing, or damaged, without a word.
func windowOf(p *av.Packets, kind string, asked *[2]float64) (*[2]float64, error) {
	if p.Window == nil {
		return asked, nil
	}
	const tick = 1e-6
	taken := *p.Window
	if taken[1] >= maxWindow {
		taken[1] = math.Inf(1)
	}
	if asked == nil {
		return &taken, nil
	}
	w := *asked
	if math.IsInf(w[1], 1) {
		w[1] = max(w[0], taken[1])
	}
	if w[0] < taken[0]-tick || w[1] > taken[1]+tick {
		return nil, &spec.Error{File: "sample", Path: kind + ".window", Text: fmt.Sprintf("got %gs to %gs, and the packets were taken for %gs to %gs; demux that window", w[0], w[1], taken[0], taken[1])}
	}
	return &w, nil
}

// soundWindow is windowOf in core/media/audio's words, where no duration is to the end.
func soundWindow(p *av.Packets, asked audio.Window) (audio.Window, error) {
	var w *[2]float64
	if asked != (audio.Window{}) {
		w = &[2]float64{asked.Start, math.Inf(1)}
		if asked.Duration > 0 {
			w[1] = asked.Start + asked.Duration
		}
	}
	w, err := windowOf(p, "audio", w)
	switch {
	case err != nil || w == nil:
		return audio.Window{}, err
	case math.IsInf(w[1], 1):
		return audio.Window{Start: w[0]}, nil
	}
	return audio.Window{Start: w[0], Duration: w[1] - w[0]}, nil
}
