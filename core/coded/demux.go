package coded

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/source/store"
)

// demux is a stream's part of a description.
type demux struct {
	Stream *int `json:"stream" range:"0,2147483646"` // its number in the file; absent: the best of the kind
	Window *struct {
		Start    time.Duration  `json:"start"`
		Duration *time.Duration `json:"duration"`
	} `json:"window"`
	Packets int           `json:"packets" range:"0,9223372036854775807"` // in a piece; 0: any number
	Length  time.Duration `json:"length"`                                // of a piece; 0: any
	Filters string        `json:"filters"`                               // bitstream filters
}

// Demuxing gives a stream's packets, in one piece or in several.
type Demuxing struct {
	in      *mux.Input
	d       demux
	path    string         // of the file; "": memory
	windows bool           // the piece of a window is still to come
	at      *store.Distant // what is read in parts; nil: nothing
}

// largeBytes is how large a file at an address is that is not read whole, but as packets are taken; a variable for tests.
var largeBytes int64 = av.LargeBytes

// named says which file an error is about. Where what is at an address is out of reach, the store says why.
func (d *Demuxing) named(err error) error {
	if err != nil && d.at != nil && d.at.Err() != nil {
		err = d.at.Err()
	}
	if err == nil || err == io.EOF || strings.Contains(err.Error(), d.path) {
		return err
	}
	return fmt.Errorf("%q: %w", d.path, err)
}

// of says which file packets are of.
func (d *Demuxing) of(p *av.Packets, err error) (*av.Packets, error) {
	if err != nil {
		return nil, d.named(err)
	}
	p.Source = d.path
	return p, nil
}

// OpenDemuxing opens a container, of bytes, a file, or an address (http, https, s3, gs, hf), of which what is large is read in parts, as packets are
// taken. The description is
// {"video": {...}} or {"audio": {...}}: stream (its number), window
// (start and duration), packets or length of a piece, filters.
func OpenDemuxing(description []byte, src mux.Source) (*Demuxing, error) {
	var all struct {
		Video *demux `json:"video"`
		Audio *demux `json:"audio"`
	}
	if err := parse(description, &all); err != nil {
		return nil, err
	}
	if (all.Video == nil) == (all.Audio == nil) {
		return nil, wrong("", "want one of video, audio")
	}
	d, kind, path := all.Video, mux.KindVideo, "video"
	if d == nil {
		d, kind, path = all.Audio, mux.KindAudio, "audio"
	}
	if err := d.check(path); err != nil {
		return nil, err
	}
	if d.Stream != nil {
		src.Stream = *d.Stream + 1
	}
	made := &Demuxing{d: *d, path: store.Shown(src.Path), windows: d.Window != nil}
	err := made.reach(&src)
	if err == nil {
		made.in, err = mux.OpenInput(src, kind)
	}
	if err != nil {
		err = made.named(err)
		made.Close()
		return nil, err
	}
	return made, nil
}

// reach has the bytes at an address in its place, or, where they are many, how to read them.
func (d *Demuxing) reach(src *mux.Source) error {
	if src.Bytes != nil || !store.IsURL(src.Path) {
		return nil
	}
	data, at, err := store.Reach(context.Background(), src.Path, largeBytes)
	if err != nil {
		return err
	}
	src.Bytes, src.Path = data, ""
	if d.at = at; at != nil {
		src.Path, src.File = d.path, &av.File{From: at, FD: -1, Size: at.Size(), Name: d.path, Version: at.Version()}
	}
	return nil
}

func (d *demux) check(path string) error {
	switch {
	case d.Length < 0:
		return wrong(path+".length", "got %v, want how long a piece is, or 0s for all", d.Length)
	case d.Window != nil && (d.Packets > 0 || d.Length > 0):
		return wrong(path, "a window comes in one piece; leave packets and length out")
	case d.Window != nil && d.Window.Duration != nil && *d.Window.Duration <= 0:
		return wrong(path+".window.duration", "got %v, want more than 0s", *d.Window.Duration)
	}
	return nil
}

// Next is the next piece, which the caller closes; io.EOF after the last. One that says neither packets nor length has all.
func (d *Demuxing) Next() (*av.Packets, error) {
	p, err := d.of(d.take())
	if err != nil || d.d.Filters == "" {
		return p, err
	}
	defer p.Close()
	filtered, err := mux.Filter(p, d.d.Filters)
	return filtered, d.named(err)
}

// endless is later than any frame, in seconds.
const endless = 1e12

func (d *Demuxing) take() (*av.Packets, error) {
	w := d.d.Window
	if w == nil {
		return d.in.Take(d.d.Packets, d.d.Length.Seconds())
	}
	if !d.windows {
		return nil, io.EOF
	}
	d.windows = false
	end := endless
	if w.Duration != nil {
		end = (w.Start + *w.Duration).Seconds()
	}
	return d.in.TakeWindow(w.Start.Seconds(), end)
}

// Stream is the stream without packets: what there is to know of it, and what a track for its packets is added by.
func (d *Demuxing) Stream() (*av.Packets, error) { return d.of(d.in.Stream()) }

// Close ends it. What it has given stays.
func (d *Demuxing) Close() {
	if d.in != nil {
		d.in.Close()
	}
	if d.at != nil {
		d.at.Close()
	}
}
