package av

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

func box(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(kind), body)
}

func numbers(n ...uint32) (b []byte) {
	for _, v := range n {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// fragmented is how a file in fragments is laid out.
type fragmented struct {
	fragments, samples int
	sidx, mfra         bool
	before             []byte // each fragment
	lie                int    // by so many bytes the lists are wrong
}

// file is such a file, and where its samples begin and end.
func (l fragmented) file() (file []byte, samples [][2]int) {
	r := rand.New(rand.NewPCG(3, 4))
	fragment := func() []byte {
		payload := make([]byte, l.samples)
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		return slices.Concat(l.before, box("moof", make([]byte, 50+r.IntN(900))), box("mdat", payload))
	}
	var all [][]byte
	for range l.fragments {
		all = append(all, fragment())
	}
	file = slices.Concat(box("ftyp", []byte("isom")), box("moov", box("mvhd", make([]byte, 100)), box("mvex", make([]byte, 20))))
	if l.sidx {
		list := numbers(0, 1, 1000, 0, uint32(l.lie), uint32(len(all)))
		for _, f := range all {
			list = append(list, numbers(uint32(len(f)), 500, 0)...)
		}
		file = append(file, box("sidx", list)...)
	}
	list := numbers(0, 1, 0, uint32(len(all)))
	for _, f := range all {
		list = append(list, numbers(0, uint32(len(file)+len(l.before)+l.lie))...)
		list = append(list, 1, 1, 1)
		file = append(file, f...)
		samples = append(samples, [2]int{len(file) - l.samples, len(file)})
	}
	if l.mfra {
		tfra := box("tfra", list)
		file = append(file, box("mfra", tfra, box("mfro", numbers(0, uint32(8+len(tfra)+16))))...)
	}
	return file, samples
}

// store is a file's bytes, and counts what is asked of it.
type store struct {
	data         []byte
	reads, peeks int // calls
	bytes        int
	fail         error
}

func (s *store) ReadAt(p []byte, at int64) (int, error) {
	s.reads++
	n, err := bytes.NewReader(s.data).ReadAt(p, at)
	s.bytes += n
	return n, cmpErr(s.fail, err)
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (s *store) Peek(to [][]byte, at []int64) error {
	s.peeks++
	for i := range to {
		if at[i] < 0 || at[i]+int64(len(to[i])) > int64(len(s.data)) {
			return io.ErrUnexpectedEOF
		}
		s.bytes += copy(to[i], s.data[at[i]:])
	}
	return s.fail
}

func stored(data []byte) (*store, *File) {
	const offset = 77
	s := &store{data: append(make([]byte, offset), data...)}
	return s, &File{From: s, FD: -1, Offset: offset, Size: int64(len(data))}
}

// whole says that all the heads' bytes are the file's, and returns how many there are.
func whole(t *testing.T, h *Heads, data []byte) (n int) {
	t.Helper()
	last := int64(-1)
	for _, r := range h.regions {
		if r.from <= last || r.to > int64(len(data)) || !bytes.Equal(h.at(r.from), data[r.from:r.to]) {
			t.Fatalf("bytes %d to %d are not the file's", r.from, r.to)
		}
		n, last = n+int(r.to-r.from), r.to
	}
	if n != len(h.data) {
		t.Fatalf("%d bytes in regions of %d", len(h.data), n)
	}
	return n
}

// The heads of a file in fragments are all of it but its samples, of which little is read; where the file lists its fragments many are asked for at a time, also
// where other boxes lie in front of them; and a list that lies costs no more than that.
func TestHeadsAreAllButTheSamples(t *testing.T) {
	for name, l := range map[string]fragmented{
		"no list":      {},
		"sidx":         {sidx: true},
		"mfra":         {mfra: true},
		"both, styp":   {sidx: true, mfra: true, before: box("styp", make([]byte, 16))},
		"mfra, sidx":   {mfra: true, before: box("sidx", numbers(0, 1, 1000, 0, 0, 1, 900, 500, 0))},
		"lying mfra":   {mfra: true, lie: 12345},
		"lying sidx":   {sidx: true, lie: 700_000},
		"beyond":       {mfra: true, sidx: true, lie: 1 << 30},
		"negative":     {mfra: true, lie: -1 << 20},
		"short":        {samples: 60_000},
		"shortest":     {samples: 100, mfra: true},
		"more than 64": {fragments: 80, mfra: true},
	} {
		t.Run(name, func(t *testing.T) {
			if l.fragments == 0 {
				l.fragments = 12
			}
			if l.samples == 0 {
				l.samples = 1_100_000
			}
			data, samples := l.file()
			s, f := stored(data)
			h, err := FindHeads(f, "video", time.Time{})
			if err != nil || h == nil {
				t.Fatal(h, err)
			}
			if n := whole(t, h, data); n != len(data)-l.fragments*l.samples {
				t.Errorf("%d bytes of heads, want %d", n, len(data)-l.fragments*l.samples)
			}
			for _, p := range samples {
				if len(h.at(int64(p[0]))) > 0 || len(h.at(int64(p[1]-1))) > 0 || len(h.at(int64(p[0]-1))) != 1 {
					t.Fatalf("the samples at %d are said to be heads, or what is before them is not", p[0])
				}
			}
			far, lists := l.samples >= 1<<20, (l.sidx || l.mfra) && l.lie == 0
			if far && s.bytes > len(data)/8 {
				t.Errorf("%d bytes of %d were read", s.bytes, len(data))
			}
			if calls := s.peeks; far && lists && calls > 2+(l.fragments+63)/64 || far && !lists && calls < l.fragments-1 || !far && calls > 0 {
				t.Errorf("%d peeks", calls)
			}
			over := h.Over(f)
			s.fail = nil
			r := rand.New(rand.NewPCG(7, 8))
			for range 200 {
				at := r.Int64N(int64(len(data)))
				if r.IntN(2) == 0 {
					at = max(0, int64(samples[r.IntN(len(samples))][r.IntN(2)])-r.Int64N(300))
				}
				to := make([]byte, 1+r.IntN(5000))
				n, err := over.ReadAt(to, at)
				want := data[at:min(int64(len(data)), at+int64(len(to)))]
				if n != len(want) || !bytes.Equal(to[:n], want) || (err == nil) != (n == len(to)) {
					t.Fatalf("%d bytes at %d: got %d, %v", len(to), at, n, err)
				}
			}
			if kept, err := HeadsOf(h.Append(nil)); err != nil || !kept.Equal(h) {
				t.Errorf("written and read they are others (%v)", err)
			}
		})
	}
}

// Where boxes do not say where the next one is, the heads are those before; what is no MP4 in fragments has none, and little of it is read.
func TestHeadsOfWhatIsOdd(t *testing.T) {
	data, samples := fragmented{fragments: 3, samples: 1_100_000}.file()
	big := slices.Clone(data)
	second := samples[1][0] - 8
	for name, b := range map[string][]byte{
		"cut in samples": data[:samples[1][0]+5],
		"cut in a head":  data[:samples[1][0]-20],
		"a size of 3":    slices.Concat(data[:second], numbers(3), data[second+4:]),
		"a size too big": slices.Concat(data[:second], numbers(1<<31), data[second+4:]),
		"to the end":     slices.Concat(data[:second], numbers(0), data[second+4:]),
		"64 bits":        slices.Concat(data[:second], numbers(1), data[second+4:second+8], numbers(0, 16+1_100_000), data[second+8:]),
		"no such size":   slices.Concat(data[:second], numbers(1), data[second+4:second+8], numbers(1<<31, 0), data[second+8:]),
	} {
		_, f := stored(b)
		h, err := FindHeads(f, "video", time.Time{})
		if err != nil || h == nil || whole(t, h, b) < 300 {
			t.Errorf("%s: got %v, %v", name, h, err)
		}
	}
	plain := slices.Concat(box("ftyp", []byte("isom")), box("mdat", make([]byte, 3<<20)), box("moov", box("mvhd", make([]byte, 100))))
	for name, b := range map[string][]byte{
		"tables in one place": plain,
		"much in its moov":    slices.Concat(box("ftyp", []byte("isom")), box("moov", make([]byte, 4<<20))),
		"another container":   append([]byte("\x1aE\xdf\xa3"), make([]byte, 4<<20)...),
		"zeros":               make([]byte, 1<<20),
		"a byte":              {1},
		"no bytes":            {},
	} {
		s, f := stored(b)
		if h, err := FindHeads(f, "video", time.Time{}); h != nil || err != nil || s.bytes > 200_000 || s.peeks > 0 {
			t.Errorf("%s: got %v, %v after %d bytes", name, h, err, s.bytes)
		}
	}
	s, f := stored(big)
	var e *Error
	if _, err := FindHeads(f, "video", time.Now().Add(-time.Second)); !errors.As(err, &e) || e.Cause() != CauseTooSlow {
		t.Errorf("without time: got %v", err)
	}
	s.fail = errors.New("out of reach")
	if _, err := FindHeads(f, "video", time.Time{}); !errors.As(err, &e) || e.Cause() != CauseRead {
		t.Errorf("got %v", err)
	}
}

// A file that is nothing but boxes is given up where their bytes are as many as are kept.
func TestHeadsAreBounded(t *testing.T) {
	data, _ := fragmented{fragments: 1, samples: 10}.file()
	data = append(data, bytes.Repeat(box("free"), headsMost/8+100)...)
	_, f := stored(data)
	h, err := FindHeads(f, "video", time.Time{})
	if err != nil || h == nil || len(h.data) > headsMost {
		t.Fatal(len(h.data), err)
	}
}

// FuzzHeads: no bytes crash the search, and whatever they say, heads are the file's own bytes and are read back as they were.
func FuzzHeads(f *testing.F) {
	was := headsGap
	headsGap = 64
	f.Cleanup(func() { headsGap = was })
	for _, l := range []fragmented{{fragments: 3, samples: 200}, {fragments: 3, samples: 200, sidx: true, mfra: true}, {fragments: 2, samples: 40000, mfra: true, lie: 3}} {
		data, _ := l.file()
		f.Add(data)
	}
	if film, err := os.ReadFile("../video/testdata/fragments.mp4"); err == nil {
		f.Add(film)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, file := stored(data)
		h, err := FindHeads(file, "video", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			return
		}
		whole(t, h, data)
		if kept, err := HeadsOf(h.Append(nil)); err != nil || !kept.Equal(h) {
			t.Fatal(err)
		}
		if s.bytes > 4*len(data)+(4+len(data)/64)*(2*headsRead) {
			t.Fatalf("%d bytes were read of %d", s.bytes, len(data))
		}
	})
}

// FuzzHeadsOf: no bytes crash who reads them back.
func FuzzHeadsOf(f *testing.F) {
	data, _ := fragmented{fragments: 2, samples: 2000}.file()
	_, file := stored(data)
	h, err := FindHeads(file, "video", time.Time{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(h.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := HeadsOf(b)
		if err != nil {
			return
		}
		for _, r := range h.regions {
			if len(h.at(r.from)) != int(r.to-r.from) || len(h.at(r.to-1)) != 1 {
				t.Fatalf("region %v", r)
			}
		}
	})
}
