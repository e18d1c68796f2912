package source

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// HostConfig describes samples that the program around the engine brings.
type HostConfig struct {
	Samples int64
	Stream  bool          // they come one after the other: none is late
	Timeout time.Duration // until a thread takes what is asked for, and then until it is given; 0: a minute
	Columns []Column      // which the samples are made of, each of all its bytes or a member of them; none: they are media
	Beside  bool          // the columns are made of the bytes, and stand beside a medium, which the path names
	InPlace int64         // media of at least so many bytes at paths and addresses are not read but stay there (Buffer.InPlace); 0: none do
	Feed    *Feed
	Store   *store.Client // reads addresses among the paths; nil: they are refused
}

// Host is a source whose samples the program around the engine brings through a Feed. A sample's label and key come with its
// bytes: after Read, the values behind those of its columns are the label, 8 bytes in the machine's order, and the key. Before,
// Label is -1 and Key the index.
type Host struct {
	HostConfig
	place
	columns []Column
}

// OpenHost makes the source. The feed ends with its Close.
func OpenHost(c HostConfig) (*Host, error) {
	if c.Samples < 1 {
		return nil, fmt.Errorf("source: host: got %d samples, want at least one: %w", c.Samples, ErrNoSamples)
	}
	columns := partColumns(c.Columns)
	for k := range columns {
		if one := &columns[k]; one.Type == Array && (one.DType == 0 || one.Shape == nil) {
			return nil, fmt.Errorf("source: host: source.columns[%d] (%q): dtype and shape are missing; no sample is asked for to tell them", k, one.Name)
		}
	}
	switch {
	case c.Stream:
		c.Timeout = 0
	case c.Timeout == 0:
		c.Timeout = time.Minute
	}
	files, err := openRoot("/", 0)
	if err != nil {
		return nil, fmt.Errorf("source: host: %w", err)
	}
	files.absolute, files.inPlace = true, c.InPlace
	c.Feed.both = c.Beside
	c.Feed.used.Store(true)
	return &Host{HostConfig: c, place: place{root: files, store: c.Store}, columns: columns}, nil
}

func (h *Host) Len() int64                     { return h.Samples }
func (h *Host) Classes() []string              { return nil }
func (h *Host) Columns() []Column              { return h.columns }
func (h *Host) Label(int64) int64              { return -1 }
func (h *Host) Key(i int64, dst []byte) []byte { return strconv.AppendInt(dst, i, 10) }

func (h *Host) Close() error {
	h.Feed.End()
	return h.close()
}

func (h *Host) Read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	file := b
	if len(h.columns) > 0 {
		file = b.side(0)
	}
	r, err := h.Feed.ask(ctx, i, h.Timeout, file)
	if medium := h.medium(b, file); err == nil && r.path != "" {
		err = h.readFile(ctx, r.path, medium)
	}
	for c := 0; c < len(h.columns) && err == nil; c++ {
		err = b.setPart(&h.columns[c], file.Bytes(), true)
	}
	if err != nil {
		b.drop()
		return h.name(err, i, r)
	}
	if r.key == "" {
		r.key = strconv.FormatInt(i, 10)
	}
	b.setInt(r.label)
	from := len(b.values)
	b.values = append(b.values, r.key...)
	b.took(from)
	return nil
}

// medium is where the file of a path goes, of a sample whose bytes are in file.
func (h *Host) medium(b, file *Buffer) *Buffer {
	if h.Beside {
		return b
	}
	return file
}

// readFile reads what a path of the program's names, in the words of a list's: a file, or an address.
func (h *Host) readFile(ctx context.Context, path string, b *Buffer) error {
	name := []byte(path)
	switch {
	case isURL(name) && h.store != nil:
		return h.read(ctx, name, b)
	case isFileURL(name) && localPath(name) == nil:
		return &Error{Cause: Program, Detail: fmt.Sprintf("path %.200q: got a file's URL without its path, want file:///PATH, or the path itself", path)}
	case otherScheme(name) != "" && !isFileURL(name):
		return &Error{Cause: Program, Detail: fmt.Sprintf("path: got a URL of scheme %.20q, want a path, or a URL of http, https, s3, gs, hf or file; a store that speaks S3 is read as s3:// "+
			"with source.remote.endpoint", otherScheme(name))}
	}
	path, err := absolute(string(localPath(name)))
	if err != nil {
		return &Error{Cause: IO, Err: err}
	}
	if len(path) >= maxPath {
		return &Error{Cause: Missing, Detail: fmt.Sprintf("got a path of %d bytes, want at most %d", len(path), maxPath-1)}
	}
	return h.root.read(ctx, b, copy(b.path[:], path))
}

// name says which sample an error is about, in the program's words where it has said any.
func (h *Host) name(err error, i int64, r *request) error {
	var bad *Error
	if errors.As(err, &bad) {
		bad.Index, bad.Key = i, strconv.FormatInt(i, 10)
		if r != nil && r.key != "" {
			bad.Key = r.key
		}
	}
	return err
}
