package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// What becomes of pictures whose aspect is another than the batch's.
const (
	fitFill = "fill" // it is not kept
	fitPad  = "pad"  // black is put beside, or above and below
	fitCrop = "crop" // what is over is cut off
)

// together is how pictures become one batch; sides are to media.MaxSide.
type together struct {
	Height  int    `json:"height" range:"0,16384"` // 0: each picture's own
	Width   int    `json:"width" range:"0,16384"`
	Fit     string `json:"fit"`
	Threads int    `json:"threads" range:"0,1024"` // 0: one a processor
	Strict  bool   `json:"strict"`
}

// gathering is one call of LoadBatch.
type gathering struct {
	together

	recipe  *recipe // of the section image
	sources []Source
}

// BatchInfo says which sources the rows are of.
type BatchInfo struct {
	Rows     []int          `json:"rows"`
	Failures []BatchFailure `json:"failures"`
}

// BatchFailure is a source that is no row.
type BatchFailure struct {
	Sample int    `json:"sample"` // its number
	Error  string `json:"error"`
}

// LoadBatch decodes pictures into one tensor "image", by several goroutines; Media.Info is a BatchInfo. The description is {"image": {...}},
// as Load's, and "batch": {height, width, fit, threads, strict}. Without a size pictures keep their own, or have what the section's transform says,
// and must come out alike. Errors are Load's; with strict (the default) that of the first source that fails.
func LoadBatch(description []byte, sources []Source, alloc Alloc) (*Media, error) {
	read, err := batches.of(string(description), len(description) <= mostText, func() (*gathering, error) { return parseGathering(description) })
	if err != nil {
		return nil, err
	}
	b := &gathering{read.together, read.recipe, sources}
	if len(sources) == 0 {
		return nil, &Error{Err: errors.New("a batch of no pictures, want one or more")}
	}
	m, err := b.load(orGo(alloc))
	return m, errorOf(err)
}

func parseGathering(description []byte) (*gathering, error) {
	d := struct {
		Image any      `json:"image"`
		Batch together `json:"batch"`
	}{Batch: together{Fit: fitFill, Strict: true}}
	if err := spec.Read("batch", description, &d); err != nil {
		return nil, err
	}
	var raw struct {
		Image map[string]any `json:"image"`
	}
	decoder := json.NewDecoder(bytes.NewReader(description))
	decoder.UseNumber()
	if err := decoder.Decode(&raw); err != nil || raw.Image == nil {
		return nil, &spec.Error{File: "batch", Path: "image", Text: "want a mapping: a batch is of pictures; want image: {}"}
	}
	b := &gathering{together: d.Batch}
	switch {
	case !slices.Contains([]string{fitFill, fitPad, fitCrop}, b.Fit):
		return nil, &spec.Error{File: "batch", Path: "batch.fit", Text: fmt.Sprintf("got %q, want pad, crop or fill", b.Fit)}
	case b.sized() && raw.Image["transform"] != nil:
		return nil, &spec.Error{File: "batch", Path: "batch", Text: "got a size, and a transform in image; want one of them"}
	}
	text, err := json.Marshal(map[string]any{"image": raw.Image})
	if err != nil {
		return nil, err
	}
	if b.recipe, err = recipeOf(text); err != nil { // what is wrong is said before a picture is read
		return nil, err
	}
	if b.recipe.sample.Image.Transform.Tiles != nil {
		return nil, &spec.Error{File: "batch", Path: "image.tiles", Text: "pictures of one batch would have different numbers of them; leave it out, and load each picture by itself, or take a ring"}
	}
	return b, nil
}

func (b *gathering) sized() bool { return b.Height > 0 || b.Width > 0 }

// piece is one picture on its way into its row.
type piece struct {
	data  []byte
	made  *prepared
	shape tensor.Shape // of the row
	h, w  int          // of what is decoded, which lies in the middle of the row
	rowH  int
	rowW  int
	err   error
}

func (b *gathering) load(alloc Alloc) (*Media, error) {
	pieces := make([]piece, len(b.sources))
	if err := b.each(func(w *media.Worker, i int) { pieces[i].err = b.look(w, &pieces[i], b.sources[i]) }); err != nil {
		return nil, err
	}
	like := slices.IndexFunc(pieces, func(p piece) bool { return p.err == nil })
	for i := range pieces {
		if p := &pieces[i]; p.err == nil && !slices.Equal(p.shape, pieces[like].shape) {
			p.err = fmt.Errorf("it becomes %v, and sample %d %v; give the batch a height and a width", p.shape, like, pieces[like].shape)
		}
	}
	if err := b.verdict(pieces); err != nil {
		return nil, err
	}
	l := &loading{alloc: alloc}
	t, err := l.tensor("image", pieces[like].made.dtype, append(tensor.Shape{int64(len(pieces))}, pieces[like].shape...))
	if err != nil {
		return nil, err
	}
	size := len(t.Data) / len(pieces)
	if err := b.each(func(w *media.Worker, i int) {
		if p := &pieces[i]; p.err == nil {
			p.err = p.decode(w, t.Data[i*size:][:size])
		}
	}); err != nil {
		return nil, err
	}
	if err := b.verdict(pieces); err != nil {
		return nil, err
	}
	return b.gather(t, size, pieces), nil
}

// each does something for every source, by several goroutines.
func (b *gathering) each(do func(w *media.Worker, i int)) error {
	threads := b.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	failed := make([]error, min(threads, len(b.sources)))
	for k := range failed {
		group.Add(1)
		go func() {
			defer group.Done()
			w, err := worker()
			if failed[k] = err; err != nil {
				return
			}
			defer rest(w)
			for i := int(next.Add(1)) - 1; i < len(b.sources); i = int(next.Add(1)) - 1 {
				do(w, i)
			}
		}()
	}
	group.Wait()
	return errors.Join(failed...)
}

// look reads a picture's bytes and says what it becomes.
func (b *gathering) look(worker *media.Worker, p *piece, src Source) error {
	data, err := (&loading{source: src}).bytes()
	if err != nil {
		return err
	}
	p.data = data
	size := sizing{recipe: b.recipe, seen: spec.Extent{Height: 1, Width: 1}}
	if i := b.recipe.sample.Image; b.sized() || i.Transform.Output() == (spec.Extent{}) {
		if size.seen.Height, size.seen.Width, err = sizeOf(worker, data, i); err != nil {
			return err
		}
	}
	if b.sized() {
		if err := b.fitted(p, &size); err != nil {
			return err
		}
	}
	if p.made, err = size.compiled(); err != nil {
		return err
	}
	p.shape = slices.Clone(p.made.shape)
	if b.sized() && b.Fit == fitPad {
		at := 0
		if p.made.channels0 {
			at = 1
		}
		p.shape[at], p.shape[at+1] = int64(p.rowH), int64(p.rowW)
	}
	return nil
}

// fitted says what the picture of a size goes through to be of the batch's size.
func (b *gathering) fitted(p *piece, size *sizing) error {
	h, w := size.seen.Height, size.seen.Width
	p.rowH, p.rowW = b.Height, b.Width
	if p.rowH == 0 {
		p.rowH = h
	}
	if p.rowW == 0 {
		p.rowW = w
	}
	p.h, p.w = p.rowH, p.rowW
	// The other side at the batch's height, and at its width, rounded as FFmpeg's scale rounds.
	wide, high := max(1, nearest(p.rowH, w, h)), max(1, nearest(p.rowW, h, w))
	switch b.Fit {
	case fitPad:
		p.h, p.w = min(p.rowH, high), min(p.rowW, wide)
	case fitCrop:
		size.resize, size.crop = spec.Extent{Height: max(p.rowH, high), Width: max(p.rowW, wide)}, spec.Extent{Height: p.rowH, Width: p.rowW}
	}
	if b.Fit != fitCrop {
		size.resize = spec.Extent{Height: p.h, Width: p.w}
	}
	size.seen = spec.Extent{Height: 1, Width: 1} // it no longer matters
	if r := size.resize; max(r.Height, r.Width) > media.MaxSide {
		return fmt.Errorf("a picture of %d x %d would be resized to %d x %d to be of the batch's size, want sides of at most %d; let it be padded, or stretched", h, w, r.Height, r.Width, media.MaxSide)
	}
	return nil
}

// nearest is a*b/c.
func nearest(a, b, c int) int { return int(math.Round(float64(a) * float64(b) / float64(c))) }

// decode fills a row, which is zero.
func (p *piece) decode(w *media.Worker, row []byte) error {
	defer func() { p.data = nil }()
	if p.h == p.rowH && p.w == p.rowW {
		_, err := w.Row(row, p.data, p.made.op, media.Draw{})
		return err
	}
	part := make([]byte, p.made.op.RowBytes())
	if _, err := w.Row(part, p.data, p.made.op, media.Draw{}); err != nil {
		return err
	}
	planes, item := 1, len(part)/(p.h*p.w)
	if p.made.channels0 {
		planes = int(p.shape[0])
		item /= planes
	}
	top, left := (p.rowH-p.h)/2, (p.rowW-p.w)/2
	for c := range planes {
		for y := range p.h {
			copy(row[((c*p.rowH+top+y)*p.rowW+left)*item:], part[(c*p.h+y)*p.w*item:][:p.w*item])
		}
	}
	return nil
}

// verdict is the error that ends the call: with strict the first one, else that all failed.
func (b *gathering) verdict(pieces []piece) error {
	failed := 0
	for i := range pieces {
		if err := pieces[i].err; err != nil {
			if failed++; b.Strict || failed == len(pieces) {
				return b.about(i, err)
			}
		}
	}
	return nil
}

// about says which sample an error is about.
func (b *gathering) about(i int, err error) error {
	if path := b.sources[i].name(); path != "" && !strings.Contains(err.Error(), path) {
		return fmt.Errorf("sample %d of %d, %q: %w", i, len(b.sources), path, err)
	}
	return fmt.Errorf("sample %d of %d: %w", i, len(b.sources), err)
}

// gather closes the gaps of the rows that failed.
func (b *gathering) gather(t Tensor, size int, pieces []piece) *Media {
	info := BatchInfo{Rows: []int{}, Failures: []BatchFailure{}}
	for i := range pieces {
		if err := pieces[i].err; err != nil {
			info.Failures = append(info.Failures, BatchFailure{i, b.about(i, err).Error()})
			continue
		}
		n := len(info.Rows)
		if n != i {
			copy(t.Data[n*size:][:size], t.Data[i*size:][:size])
		}
		info.Rows = append(info.Rows, i)
	}
	t.Data, t.Shape[0] = t.Data[:len(info.Rows)*size], int64(len(info.Rows))
	return &Media{[]Tensor{t}, info}
}
