package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

const mediaH5 = hdf5s + "media.h5"

// dataset is an array of media.h5.
func dataset(name, path string) ArrayFiles {
	return ArrayFiles{Name: name, Files: []string{mediaH5}, Dataset: []string{path}}
}

// greyOf is the number of the picture of testdata/make_media.py that some bytes are; -1: they are none.
func greyOf(data []byte) int {
	p, _, err := image.Decode(bytes.NewReader(data))
	if err != nil || p.Bounds().Dx() != 16 || p.Bounds().Dy() != 12 {
		return -1
	}
	r, _, _, _ := p.At(7, 5).RGBA()
	return (int(r>>8) - 20 + 10) / 40
}

// A sample's picture is the file in an element, however that holds it: lists of either type of bytes, texts, opaque bytes, or rows with zeros behind.
func TestPicturesAreElementsOfADataset(t *testing.T) {
	for _, path := range []string{"/vlen", "/vlen_i8", "/observations/images/top", "/opaque", "/fixed"} {
		s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{dataset("picture", path), dataset("state", "/observations/qpos")}, Media: []Medium{{Name: "image", From: []string{"picture"}}}})
		if columns := s.(Columnar).Columns(); s.Len() != 6 || len(columns) != 1 || columns[0].Name != "state" {
			t.Errorf("%s: %d samples with %v", path, s.Len(), columns)
		}
		var b Buffer
		for i := range s.Len() {
			must(t, s.Read(background, i, &b))
			if got := greyOf(b.Bytes()); got != int(i) || len(b.parts) != 1 || len(b.Value(0)) != 12 {
				t.Errorf("%s: sample %d is picture %d, beside a state of %d bytes", path, i, got, len(b.Value(0)))
			}
		}
		if got := string(s.Key(4, nil)); got != "media.h5"+path+":4" {
			t.Errorf("got %s", got)
		}
	}
}

// Several rows of a window are a medium each; a row may be two media, and its own name is that of the array where nothing is said.
func TestRowsOfWindowsAreMedia(t *testing.T) {
	top := dataset("top", "/observations/images/top")
	top.Window, top.Step, top.Within = 2, 1, 3
	whole := dataset("again", "/vlen")
	whole.Step, whole.Within = 1, 3
	actions := dataset("actions", "/action")
	actions.Window, actions.Step = 3, 1
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{actions, top, whole}, Media: []Medium{{Name: "now", From: []string{"top[1]"}}, {Name: "before", From: []string{"top[0]"}}, {Name: "other", From: []string{"top[1]"}}, {Name: "again"}}})
	var b Buffer
	for i := range s.Len() {
		must(t, s.Read(background, i, &b))
		var got []int
		for k := range 4 {
			got = append(got, greyOf(b.Part(k)))
		}
		if want := int(i); s.Len() != 4 || !slices.Equal(got, []int{want + 1, want, want + 1, want}) || len(b.Value(0)) != 3*2*4 {
			t.Errorf("sample %d of %d: got %v", i, s.Len(), got)
		}
	}
}

// Beyond the edges of an episode a medium is that of the nearest step, and a text that of the first; a column says which steps of a window of media those are.
func TestMediaOfEpisodesAreRepeatedAtTheirEdges(t *testing.T) {
	top, text, actions := dataset("top", "/observations/images/top"), dataset("text", "/texts/zeros"), dataset("actions", "/action")
	for _, a := range []*ArrayFiles{&top, &text, &actions} {
		a.Step, a.Within, a.PadBefore, a.PadAfter = 1, 4, 3, 2
	}
	top.Window, top.IsPad, actions.Window = 4, true, 4
	var media []Medium
	for k := range 4 {
		media = append(media, Medium{Name: fmt.Sprint("step", k), From: []string{fmt.Sprintf("top[%d]", k)}})
	}
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{actions, top, text}, Media: media, Episodes: &Episodes{Numbers: Numbers{Given: []int64{2, 6}}}})
	var b Buffer
	i := int64(0)
	for _, e := range [][2]int64{{0, 2}, {2, 6}} { // 2 and 4 rows, of which 4 - 4 + 3 + 2 + 1 windows of four
		for from := e[0] - 3; from+4 <= e[1]+2; from++ {
			must(t, s.Read(background, i, &b))
			for k := range int64(4) {
				at := from + k
				inside := min(max(at, e[0]), e[1]-1)
				pad := byte(0)
				if at != inside {
					pad = 1
				}
				if got := int64(greyOf(b.Part(int(k)))); got != inside || b.Value(2)[k] != pad {
					t.Errorf("sample %d, step %d: got picture %d, padded %d, want %d, %d", i, k, got, b.Value(2)[k], inside, pad)
				}
			}
			i++
		}
	}
	if names := s.(Columnar).Columns(); i != s.Len() || len(names) != 3 || names[1].Name != "text" || names[2].Name != "top_is_pad" {
		t.Errorf("%d samples, want %d, with %v", s.Len(), i, names)
	}
}

// Texts and lists of any length are columns, of texts and of ragged arrays, in the machine's order of bytes.
func TestTextsAndListsAreColumns(t *testing.T) {
	arrays := []ArrayFiles{dataset("utf8", "/texts/utf8"), dataset("zeros", "/texts/zeros"), dataset("big", "/lists/i16_big"), dataset("i64", "/lists/i64"), dataset("bytes", "/vlen"), dataset("label", "/label")}
	arrays[0].MaxBytes, arrays[2].MaxLength, arrays[3].MaxLength, arrays[3].Padded, arrays[4].MaxLength = 5000, 5, 5, true, 10_000
	s := arraysOf(t, ArraysConfig{Arrays: arrays, Label: "label"})
	var types []string
	for _, c := range s.(Columnar).Columns() {
		types = append(types, fmt.Sprintf("%s:%d:%d:%d:%v:%v", c.Name, c.Type, c.MaxBytes, c.MaxLength, c.Padded, c.Shape))
	}
	if got := strings.Join(types, " "); got != "utf8:0:5000:0:false:scalar zeros:0:1024:0:false:scalar big:3:0:5:false:scalar i64:3:0:5:true:scalar bytes:3:0:10000:false:scalar label:3:0:0:false:scalar" {
		t.Errorf("got %s", got)
	}
	texts := []string{"", "a cat", "zwei Hunde", "ein Bär und drei Äpfel", strings.Repeat("x", 5000), "end"}
	var b Buffer
	for i := range s.Len() {
		must(t, s.Read(background, i, &b))
		if string(b.Value(0)) != texts[i] || string(b.Value(1)) != texts[i][:min(40, len(texts[i]))] || s.Label(i) != i || greyOf(b.Value(4)) != int(i) {
			t.Errorf("sample %d: %.50q, %.50q, label %d", i, b.Value(0), b.Value(1), s.Label(i))
		}
		var big, long []byte
		for k := range i {
			v := (k*37+11)%101 - 50
			big, long = binary.NativeEndian.AppendUint16(big, uint16(v)), binary.NativeEndian.AppendUint64(long, uint64(v))
		}
		if !bytes.Equal(b.Value(2), big) || !bytes.Equal(b.Value(3), long) {
			t.Errorf("sample %d: %x and %x, want %x and %x", i, b.Value(2), b.Value(3), big, long)
		}
	}
}

// What an element is not, or is more than there is room for, makes a bad sample, whose array is named; its neighbours are read.
func TestElementsThatAreNoMedia(t *testing.T) {
	text, list := dataset("x", "/texts/utf8"), dataset("x", "/lists/i64")
	list.MaxLength = 4
	for _, c := range []struct {
		array     ArrayFiles
		medium    bool
		most, bad int64
		cause     Cause
		want      string
	}{
		{dataset("x", "/some"), true, 0, 2, Empty, `array "x": got no bytes`},
		{dataset("x", "/gap"), true, 0, 2, Empty, `array "x": got no bytes but zeros`},
		{dataset("x", "/vlen"), true, 9, 0, TooLarge, `array "x": got `},
		{dataset("x", "/gap"), true, 9, 0, TooLarge, ` bytes, want at most 9`},
		{text, false, 0, 4, Value, `column "x": got 5000 bytes, want at most 1024; raise max_bytes of the array`},
		{list, false, 0, 5, Value, `column "x": got a length of 5, want at most 4; raise max_length of the array`},
	} {
		config := ArraysConfig{Arrays: []ArrayFiles{c.array}, MaxFileBytes: c.most}
		if c.medium {
			config.Media = []Medium{{Name: "image", From: []string{"x"}}}
		}
		s := arraysOf(t, config)
		var b Buffer
		var e *Error
		if err := s.Read(background, c.bad, &b); !errors.As(err, &e) || e.Cause != c.cause || e.Index != c.bad || e.In != mediaH5+c.array.Dataset[0] || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.array.Dataset, err, c.want)
		}
		if c.most == 0 {
			must(t, s.Read(background, 1, &b))
		}
	}
}

// A heap that was written over is a bad sample, and so is a file that was written again.
func TestDamagedHeapsAreBadSamples(t *testing.T) {
	path, data := hdf5Copy(t, "media.h5")
	for _, medium := range []bool{true, false} {
		config := ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{path}, Dataset: []string{"/vlen"}}}}
		if config.Arrays[0].MaxLength = 5000; medium {
			config.Arrays[0].MaxLength, config.Media = 0, []Medium{{Name: "image", From: []string{"x"}}}
		}
		broken := bytes.ReplaceAll(data, []byte("GCOL\x01"), []byte("GCOL\x07"))
		writtenTo(t, path, broken)
		s := arraysOf(t, config)
		var b Buffer
		var e *Error
		if err := s.Read(background, 3, &b); !errors.As(err, &e) || e.Cause != Value || !strings.Contains(err.Error(), "the heap of a list at") {
			t.Errorf("got %v", err)
		}
		writtenTo(t, path, data[:len(data)-1])
		if err := s.Read(background, 3, &b); !errors.As(err, &e) || e.Cause != Changed {
			t.Errorf("got %v", err)
		}
		writtenTo(t, path, data)
	}
}

// Files may pad their rows to lengths of their own, as each of ALOHA's episodes does, and their texts, too.
func TestFilesPadTheirRowsByThemselves(t *testing.T) {
	dir := t.TempDir()
	for k, length := range []int64{5, 9} {
		npyFile(t, filepath.Join(dir, fmt.Sprintf("%d.npy", k)), tensor.U8, 2, length)
	}
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{dir + "/*.npy"}}}, Media: []Medium{{Name: "x"}}})
	var b Buffer
	var got []int
	for i := range s.Len() {
		must(t, s.Read(background, i, &b))
		got = append(got, len(b.Bytes()))
	}
	if !slices.Equal(got, []int{5, 5, 9, 9}) {
		t.Errorf("got %v", got)
	}
	mixed := ArrayFiles{Name: "x", Files: []string{mediaH5}, Dataset: []string{"/texts/{zeros,terminated,utf8}"}, MaxBytes: 5000}
	if s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{mixed}}); s.Len() != 18 {
		t.Errorf("got %d texts", s.Len())
	}
}

// Identities tell rows of a window, and fingerprints what is made of arrays.
func TestIdentitiesAndFingerprintsOfMedia(t *testing.T) {
	top := dataset("top", "/observations/images/top")
	top.Window, top.Step = 2, 1
	list := dataset("top", "/vlen")
	list.MaxLength = 5000
	seen, prints := map[string]bool{}, map[Fingerprint]bool{}
	configs := []ArraysConfig{
		{Arrays: []ArrayFiles{top}, Media: []Medium{{Name: "image", From: []string{"top[0]"}}}}, {Arrays: []ArrayFiles{top}, Media: []Medium{{Name: "image", From: []string{"top[1]"}}}}, {Arrays: []ArrayFiles{top}},
		{Arrays: []ArrayFiles{dataset("top", "/vlen")}, Media: []Medium{{Name: "top"}}}, {Arrays: []ArrayFiles{list}},
	}
	for k, config := range configs {
		s := arraysOf(t, config)
		id := string(s.(Versioned).Identity(0, nil))
		f, _ := s.(Fingerprinted).Fingerprint()
		if id == "" || seen[id] || prints[f] {
			t.Errorf("config %d is as another: %q", k, id)
		}
		seen[id], prints[f] = true, true
	}
}

// What cannot be is refused when the source is opened, with what to do.
func TestElementsThatCannotBeAreRefused(t *testing.T) {
	with := func(a ArrayFiles, change func(a *ArrayFiles)) ArrayFiles {
		change(&a)
		return a
	}
	windowed := func(a *ArrayFiles) { a.Window = 2 }
	image := func(from string) []Medium { return []Medium{{Name: "image", From: []string{from}}} }
	npy := npyFile(t, filepath.Join(t.TempDir(), "x.npy"), tensor.F32, 5, 2)
	for _, c := range []struct {
		array ArrayFiles
		media []Medium
		want  string
	}{
		{dataset("x", "/pixels"), image("x"), "got rows of 4x4x3 of u8 for encoded media, want one file a row: a list of u8, texts or opaque bytes, or u8 with zeros behind; pixels as they are and other numbers are a field by their array alone"},
		{dataset("x", "/lists/i64"), image("x"), "got lists of scalar of i64 for encoded media"},
		{dataset("x", "/label"), image("x"), "got rows of scalar of i64 for encoded media"},
		{dataset("x", "/texts/table"), image("x"), "got rows of 2x16 of u8 for encoded media"},
		{dataset("x", "/texts/table"), nil, "got texts of 6x2, of which a row has several, want one"},
		{dataset("x", "/vlen"), nil, "got lists of any length of u8, whose max_length is missing: the most that one has; where they are encoded pictures, say image: {from: x}"},
		{with(dataset("x", "/vlen"), windowed), image("x"), `source: image: array "x" has windows of 2 rows; say which row is meant, from: x[0] to x[1]`},
		{with(dataset("x", "/vlen"), windowed), image("x[2]"), `got row [2] of array "x", want a whole number from 0 to 1`},
		{with(dataset("x", "/vlen"), windowed), image("x[a]"), `got row [a] of array "x"`},
		{dataset("x", "/vlen"), image("y"), `source: image: got "y", want the name of one of the arrays`},
		{with(dataset("x", "/texts/utf8"), windowed), nil, "got texts with a window of 2 rows, which have no one shape; leave window out, and say step: and within:"},
		{with(dataset("x", "/lists/i64"), func(a *ArrayFiles) { a.Window, a.MaxLength = 2, 5 }), nil, "got lists of any length with a window of 2 rows"},
		{with(dataset("x", "/texts/utf8"), func(a *ArrayFiles) { a.MaxLength = 5 }), nil, "got texts with max_length, which goes with lists of any length; leave it out"},
		{with(dataset("x", "/label"), func(a *ArrayFiles) { a.MaxLength = 5 }), nil, "got numbers with max_length"},
		{ArrayFiles{Name: "x", Files: []string{npy}, MaxBytes: 5}, nil, "got numbers with max_bytes, which goes with texts; leave it out"},
		{with(dataset("x", "/vlen"), func(a *ArrayFiles) { a.MaxBytes = 5 }), image("x"), "got encoded media with max_bytes"},
		{with(dataset("x", ""), func(a *ArrayFiles) { a.Dataset = []string{"/label", "/texts/utf8"} }), nil, `got texts, want numbers, as "` + mediaH5 + `/label" has`},
		{with(dataset("x", ""), func(a *ArrayFiles) { a.Dataset, a.MaxLength = []string{"/lists/i64", "/lists/f32"}, 5 }), nil, "got lists of any length of scalar of f32, want lists of any length of scalar of i64"},
	} {
		s, err := OpenArrays(ArraysConfig{Arrays: []ArrayFiles{c.array}, Media: c.media})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.array.Dataset, err, c.want)
		}
	}
	for path, want := range map[string]string{"/texts/utf8": "got texts, want one whole number a sample", "/vlen": "got encoded media, want one whole number a sample"} {
		config := ArraysConfig{Arrays: []ArrayFiles{dataset("x", path)}, Label: "x"}
		if path == "/vlen" {
			config.Media = image("x")
		}
		if _, err := OpenArrays(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A sample of a list is read with no memory of its own.
func TestListsAreReadIntoTheBuffer(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector a sync.Pool drops some of what it is given")
	}
	text := dataset("text", "/texts/utf8")
	text.MaxBytes = 5000
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{dataset("x", "/vlen"), text}, Media: []Medium{{Name: "x"}}})
	var b Buffer
	n := testing.AllocsPerRun(100, func() { must(t, s.Read(background, 3, &b)) })
	if n > 0 {
		t.Errorf("%v allocations a sample", n)
	}
}

// Datasets are told with what their rows are, also those that are not read.
func TestDatasetsAreTold(t *testing.T) {
	var told []string
	for _, d := range DatasetsOf(mediaH5, 100) {
		told = append(told, fmt.Sprintf("%s: %s %d", d.Path, d.What, d.Kind))
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{"/vlen: lists of bytes 4", "/vlen_i8: lists of bytes 4", "/opaque: opaque bytes 4", "/fixed: texts 2", "/texts/utf8: texts 2", "/lists/pairs: lists of i32 3", "/label: i64 1", "/pixels: 4x4x3 of u8 1", "/lists/nested: lists: got types within types, want numbers, texts, or one array or list of numbers 0"} {
		if !strings.Contains(all+"\n", want+"\n") {
			t.Errorf("want %q of\n%s", want, all)
		}
	}
}
