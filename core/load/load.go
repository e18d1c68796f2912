package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/spelling"
	"github.com/spdl/spdl/core/tensor"
)

// MaxFileBytes is the largest file that is read for a picture or an array.
const MaxFileBytes = 4 << 30

// Source is an encoded sample: its bytes, or else a file or an address, or packets of a video or a sound.
type Source struct {
	Bytes   []byte
	Path    string // of a file, or an address (http, https, s3, gs, hf): of a large video or sound there no more is read than is decoded
	Packets *av.Packets
}

// Tensor is one tensor of what was decoded: row-major.
type Tensor struct {
	Name  string
	DType tensor.DType
	Shape tensor.Shape
	Data  []byte
}

// Media is what was decoded. Tensors of arrays may lie in the source's own bytes.
type Media struct {
	Tensors []Tensor
	Info    any // facts of the sample, to be told as JSON
}

// Alloc gives zeroed memory of n bytes, aligned to 64; nil: Go's.
type Alloc func(n int) ([]byte, error)

// Error says that the sample cannot be decoded; what is wrong with a description is a *spec.Error.
type Error struct {
	Err  error
	Path string // of the file; "": memory, or the text has it already
}

func (e *Error) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("load: %q: %v", e.Path, e.Err)
	}
	return "load: " + e.Err.Error()
}

// Unwrap is the decoder's error, which has a Cause.
func (e *Error) Unwrap() error { return e.Err }

// OutOfMemory says of an error that the machine has no memory left, so that the sample may be well.
func OutOfMemory(err error) bool {
	var caused interface{ Cause() string }
	return errors.As(err, &caused) && caused.Cause() == media.CauseNoMemory
}

// Load decodes a sample. Errors are *spec.Error and *Error.
func Load(description []byte, src Source, alloc Alloc) (*Media, error) {
	l := &loading{source: src, alloc: orGo(alloc)}
	m, err := l.load(description)
	return m, named(errorOf(err), src.name())
}

// name is the file's, or that of the file that packets are of; "": there is none.
func (s Source) name() string {
	if s.Path == "" && s.Packets != nil {
		return s.Packets.Source
	}
	return store.Shown(s.Path)
}

// fetched has the bytes that lie at an address in the address' place. They are Go's: what is loaded may not be a view of them, as of the
// source's own.
func (s Source) fetched() (Source, error) {
	if s.Bytes != nil || !store.IsURL(s.Path) {
		return s, s.otherAddress()
	}
	b, err := store.Fetch(context.Background(), s.Path)
	return Source{Bytes: b}, err
}

// otherAddress refuses what looks like an address and is none that is read, where no file is called so.
func (s Source) otherAddress() error {
	scheme, _, is := strings.Cut(s.Path, "://")
	if s.Bytes != nil || !is || strings.Contains(scheme, "/") {
		return nil
	}
	if _, err := os.Stat(s.Path); err == nil {
		return nil
	}
	return fmt.Errorf("%.200q: got an address of scheme %.20q without a file of that name, want a file, or an address of http, https, s3, gs or hf with its host or bucket", store.Shown(s.Path), scheme)
}

// named says which file an *Error is about.
func named(err error, path string) error {
	if e, ok := err.(*Error); ok && !strings.Contains(e.Err.Error(), path) {
		return &Error{e.Err, path}
	}
	return err
}

// errorOf is the description's fault or the sample's. Only FFmpeg can tell that of its filters, and only the machine that of its devices.
func errorOf(err error) error {
	var described *spec.Error
	var filter *av.FilterError
	var config *audio.ConfigError
	var hardware *video.HardwareError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &described):
		return described
	case errors.As(err, &config):
		return &spec.Error{File: "sample", Path: "audio." + config.Key, Text: config.Text}
	case errors.As(err, &hardware):
		return &spec.Error{File: "sample", Path: "video.hardware", Text: hardware.Text}
	case errors.As(err, &filter):
		return &spec.Error{File: "sample", Path: filter.Kind + ".filter", Text: fmt.Sprintf("got %.80q: %s", filter.Text, filter.Why)}
	}
	return &Error{Err: err}
}

// orGo is the allocator, or Go's.
func orGo(alloc Alloc) Alloc {
	if alloc != nil {
		return alloc
	}
	return func(n int) ([]byte, error) { return make([]byte, n), nil }
}

type loading struct {
	source Source
	alloc  Alloc
}

func (l *loading) load(description []byte) (*Media, error) {
	r, err := recipeOf(description)
	switch {
	case err != nil:
		return nil, err
	case r.plain != nil && l.source.Packets == nil:
		return l.plain(r.plain)
	case r.plain != nil:
		_, err := spec.ParseSample(description) // which says that it is none of packets
		return nil, err
	case r.sample.Video != nil:
		return l.video(r.own())
	case r.sample.Audio != nil:
		return l.audio(r)
	case l.source.Packets != nil:
		return nil, &spec.Error{File: "sample", Text: "packets are of a video or a sound; want video or audio"}
	}
	return l.image(r)
}

// plainKeys are what a description may be instead of a section.
var plainKeys = []string{"npy", "npz", "tar", "zip", "wav", "probe", "ffmpeg"}

// WantsSource says that a description is of a sample, and not of FFmpeg alone.
func WantsSource(description []byte) bool {
	keys := spec.TopKeys(description)
	return len(keys) == 0 || keys[0] != "ffmpeg"
}

// plain is what needs no section.
type plain struct {
	kind     string // one of plainKeys
	start    string // of wav
	duration string
	probe    string
	logLevel *int // of ffmpeg
}

// readPlain reads one whose first key is one of plainKeys.
func readPlain(description []byte, keys []string) (*plain, error) {
	var d struct {
		NPY struct{} `json:"npy"`
		NPZ struct{} `json:"npz"`
		Tar struct{} `json:"tar"`
		Zip struct{} `json:"zip"`
		WAV struct {
			Window struct {
				Start    string `json:"start"`
				Duration string `json:"duration"`
			} `json:"window"`
		} `json:"wav"`
		Probe  string `json:"probe"`
		FFmpeg struct {
			LogLevel *int `json:"log_level" range:"-65536,65536"`
		} `json:"ffmpeg"`
	}
	if err := spec.Read("sample", description, &d); err != nil {
		return nil, err
	}
	if len(keys) > 1 {
		return nil, &spec.Error{File: "sample", Text: fmt.Sprintf("got %s, want one of them", strings.Join(keys, " and "))}
	}
	return &plain{keys[0], d.WAV.Window.Start, d.WAV.Window.Duration, d.Probe, d.FFmpeg.LogLevel}, nil
}

func (l *loading) plain(p *plain) (*Media, error) {
	switch p.kind {
	case "npy":
		return l.npy()
	case "npz":
		return l.npz()
	case "tar":
		return l.members(array.Tar)
	case "zip":
		return l.members(array.Zip)
	case "wav":
		return l.wav(p.start, p.duration)
	case "probe":
		return l.probe(p.probe)
	}
	return aboutFFmpeg(p.logLevel)
}

// aboutFFmpeg is the FFmpeg in use, whose log is shown up to a level from now on, unless that is nil.
func aboutFFmpeg(level *int) (*Media, error) {
	if level != nil {
		av.SetLogLevel(*level)
	}
	facts, err := av.About()
	return &Media{Info: facts}, err
}

func (l *loading) probe(kind string) (*Media, error) {
	if kind == "wav" {
		return l.wavHeader()
	}
	src, err := l.source.reached()
	if err != nil {
		return nil, err
	}
	defer src.close()
	switch kind {
	case "video":
		s, err := video.Probe(src.video())
		return &Media{Info: s}, src.cause(err)
	case "frames":
		c, err := video.Count(src.video())
		return &Media{Info: c}, src.cause(err)
	case "audio":
		s, err := audio.Probe(src.audio())
		return &Media{Info: s}, src.cause(err)
	}
	return nil, &spec.Error{File: "sample", Path: "probe", Text: fmt.Sprintf("got %q, want video, frames, audio or wav", kind)}
}

// bytes is the source's, read where it is a file.
func (l *loading) bytes() ([]byte, error) { return l.bytesInto(nil) }

// bytesInto is bytes, where a file is read into the room of buf if that is large enough.
func (l *loading) bytesInto(buf []byte) ([]byte, error) {
	src, err := l.source.fetched()
	if err != nil || src.Bytes != nil || src.Path == "" {
		return src.Bytes, err
	}
	st, err := os.Stat(l.source.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q: %w%s", l.source.Path, errors.Unwrap(err), spelling.NotThere(l.source.Path))
	}
	if err != nil {
		return nil, err
	}
	if err := av.CheckRegular(l.source.Path, st); err != nil {
		return nil, err
	}
	if st.Size() > MaxFileBytes {
		return nil, fmt.Errorf("%q: got %d bytes, want at most %d", l.source.Path, st.Size(), int64(MaxFileBytes))
	}
	return readFile(l.source.Path, int(st.Size()), buf)
}

// readFile reads a file that has size bytes, or had them: one that is written meanwhile is read to its end.
func readFile(path string, size int, buf []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if cap(buf) <= size { // one more byte, to see the end
		buf = make([]byte, 0, size+1)
	}
	for buf = buf[:0]; ; {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		case len(buf) == cap(buf):
			buf = slices.Grow(buf, len(buf))
		}
	}
}

// tensor is room for one.
func (l *loading) tensor(name string, d tensor.DType, shape tensor.Shape) (Tensor, error) {
	n, err := shape.Bytes(d)
	if err != nil {
		return Tensor{}, err
	}
	data, err := l.alloc(int(n))
	return Tensor{name, d, shape, data}, err
}

func (l *loading) npy() (*Media, error) {
	data, err := l.bytes()
	if err != nil {
		return nil, err
	}
	a, err := array.ParseNPY(data)
	if err != nil {
		return nil, err
	}
	m := &Media{}
	err = l.addArray(m, "array", &a)
	return m, err
}

func (l *loading) npz() (*Media, error) {
	data, err := l.bytes()
	if err != nil {
		return nil, err
	}
	z, err := array.OpenNPZ(data)
	if err != nil {
		return nil, err
	}
	m := &Media{}
	for _, name := range z.Names() {
		a, err := z.Array(name)
		if err != nil {
			return nil, err
		}
		if err := l.addArray(m, name, &a); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// arraysInfo says of arrays what their types do not: booleans are U8.
type arraysInfo struct {
	Booleans []string `json:"booleans"`
}

func (l *loading) addArray(m *Media, name string, a *array.Array) error {
	t, err := l.array(name, a)
	if err != nil {
		return err
	}
	m.Tensors = append(m.Tensors, t)
	if a.Bool {
		info, _ := m.Info.(arraysInfo)
		m.Info = arraysInfo{append(info.Booleans, name)}
	}
	return nil
}

// members is the files of an archive, in its order, as bytes; those that lie in the caller's memory as they are, as views.
func (l *loading) members(of func([]byte) iter.Seq2[array.Member, error]) (*Media, error) {
	data, err := l.bytes()
	if err != nil {
		return nil, err
	}
	m := &Media{}
	for member, err := range of(data) {
		if err != nil {
			return nil, err
		}
		t := Tensor{member.Name, tensor.U8, tensor.Shape{int64(len(member.Data))}, member.Data}
		if l.source.Bytes == nil || !within(member.Data, l.source.Bytes, 1) {
			if t, err = l.tensor(t.Name, t.DType, t.Shape); err != nil {
				return nil, err
			}
			copy(t.Data, member.Data)
		}
		m.Tensors = append(m.Tensors, t)
	}
	return m, nil
}

// array is an array as a tensor: where it lies, if that is the caller's memory and the elements lie there as a tensor's do.
func (l *loading) array(name string, a *array.Array) (Tensor, error) {
	if l.source.Bytes != nil && a.Dense() && within(a.Data, l.source.Bytes, a.DType.Bytes()) {
		return Tensor{name, a.DType, a.Shape, a.Data}, nil
	}
	t, err := l.tensor(name, a.DType, a.Shape)
	if err == nil {
		a.CopyTo(t.Data)
	}
	return t, err
}
