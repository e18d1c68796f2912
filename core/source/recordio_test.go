package source

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

// recSample is a sample of testdata/rec, as the program that made it wrote it down.
type recSample struct {
	Key     string
	Label   []float64
	Picture string // in base64
}

func recWanted(t testing.TB) (files map[string][]recSample) {
	t.Helper()
	text, err := os.ReadFile("testdata/rec/want.json")
	must(t, err)
	must(t, json.Unmarshal(text, &files))
	return files
}

// What MXNet has packed is read, on a disk, over http and from a store, with the index that is made and the one that was kept: the pictures, also those in which the magic
// number is, the labels, and the numbers of the records as keys. Of InsightFace's files the records of a header alone are no samples.
func TestRecordIOHasWhatMXNetPacked(t *testing.T) {
	wanted := recWanted(t)
	origin := serveObjects(t, objectsIn(t, "testdata/rec", "/b/rec/"))
	client := storeClient(t, store.Options{Endpoint: origin.URL, Region: "r", PathStyle: true, Anonymous: true})
	index := t.TempDir()
	columns := []Column{listOf("label", tensor.F32, 5), {Name: "file", From: "image", MaxBytes: 2000}}
	for file, want := range wanted {
		for _, dir := range []string{"testdata/rec/", origin.URL + "/b/rec/", "s3://b/rec/"} {
			for k := range 2 {
				s := openS(t, ShardsConfig{Shards: []string{dir + file + ".rec"}, Columns: columns, IndexDir: index, Store: client})
				if s.Len() != int64(len(want)) {
					t.Fatalf("%s%s: got %d samples, want %d", dir, file, s.Len(), len(want))
				}
				for i := range s.Len() {
					b, picture := read(t, s, i)
					labels := elementsOf(tensor.F32, b.Value(0))
					if w := want[i]; picture != unbased(t, w.Picture) || string(b.Value(1)) != picture || fmt.Sprint(labels) != fmt.Sprint(w.Label) || string(s.Key(i, nil)) != w.Key {
						t.Errorf("%s%s: sample %d: labels %v, want %v, key %q, want %q, or the picture is another", dir, file, i, labels, w.Label, s.Key(i, nil), w.Key)
					}
					label := int64(-1)
					if v := want[i].Label; len(v) == 1 && v[0] == math.Trunc(v[0]) {
						label = int64(v[0])
					}
					if s.Label(i) != label {
						t.Errorf("%s%s: sample %d: label %d, want %d", dir, file, i, s.Label(i), label)
					}
				}
				if notes := s.(interface{ Notes() []string }).Notes(); k == 1 && len(notes) > 0 {
					t.Errorf("%s%s: the index was not kept: %q", dir, file, notes)
				}
			}
		}
	}
	several := openS(t, ShardsConfig{Shards: []string{"testdata/rec/faces.rec", "testdata/rec/{labels,parts}.rec"}, IndexDir: index})
	if several.Len() != 5+5+10 || string(several.Key(0, nil)) != "1" || string(several.Key(5, nil)) != "0" {
		t.Errorf("got %d samples of three shards", several.Len())
	}
}

// A label that is named has to be one whole number; label[0] is the first of however many. Columns of one number are numbers.
func TestLabelsOfRecordIO(t *testing.T) {
	index := t.TempDir()
	open := func(label string, columns ...Column) Source {
		return openS(t, ShardsConfig{Shards: []string{"testdata/rec/labels.rec"}, Label: label, Columns: columns, IndexDir: index})
	}
	const several = `label: "label" is not one whole number; label[0] is the first of several, and a column has others: {name: labels, from: label, type: list, dtype: f32, max_length: 10}`
	for _, c := range []struct {
		label string
		want  [5]string // the label, or what is wrong
	}{
		{"", [5]string{"-1", "-1", "7", "-3", "-1"}},
		{"label", [5]string{several, several, "7", "-3", several}},
		{"label[0]", [5]string{several, "1", "7", "-3", several}},
	} {
		s := open(c.label)
		for i, want := range c.want {
			var b Buffer
			got := fmt.Sprint(s.Label(int64(i)))
			if err := s.Read(background, int64(i), &b); err != nil {
				_, got, _ = strings.Cut(err.Error(), "value: ")
			}
			if got != want {
				t.Errorf("%q: sample %d: got %s, want %s", c.label, i, got, want)
			}
		}
	}
	s := open("", Column{Name: "y", From: "label", Type: Float64})
	b, _ := read(t, s, 0)
	if got := math.Float64frombits(binary.NativeEndian.Uint64(b.Value(0))); got != 2.5 {
		t.Errorf("got %v", got)
	}
	if err := s.Read(background, 1, b); err == nil || !strings.Contains(err.Error(), `column "y": got 3 numbers, want one`) {
		t.Errorf("got %v", err)
	}
	for want, column := range map[string]Column{
		`source.columns: column "label" of "testdata/rec/labels.rec": it is rec/floats, want type i64, f64, npy, list`: {Name: "y", From: "label"},
		`source.columns: no sample has a part "id"; the parts are image, label`:                                        {Name: "id"},
	} {
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{"testdata/rec/labels.rec"}, Columns: []Column{column}, IndexDir: index}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	known := open("", Column{Name: "y", From: "label", Type: Int64}).(Knowing).Known("y")
	if known != nil {
		t.Error("a column that not every sample has a whole number for is known without reading")
	}
}

// A sound and a video of one part are the same bytes, also where the record was split.
func TestAFileOfSeveralPartsIsTwoMedia(t *testing.T) {
	want := recWanted(t)["parts"]
	both := []Medium{{Name: "video", From: []string{"image"}}, {Name: "audio", From: []string{"image"}}}
	s := openS(t, ShardsConfig{Shards: []string{"testdata/rec/parts.rec"}, Media: both, InPlace: 1, IndexDir: t.TempDir()})
	for i := range s.Len() {
		b, _ := read(t, s, i)
		for k := range both {
			file := b.InPlace(k)
			data := b.Part(k)
			if file != nil {
				all, err := os.ReadFile("testdata/rec/parts.rec")
				must(t, err)
				data = all[file.Offset:][:file.Size]
			} else if !bytes.Equal(b.mem[b.parts[k].at+b.parts[k].n:][:Padding], make([]byte, Padding)) {
				t.Errorf("sample %d: medium %d has no zeros behind it", i, k)
			}
			if string(data) != unbased(t, want[i].Picture) {
				t.Errorf("sample %d: medium %d is another", i, k)
			}
		}
		b.drop()
	}
}

// recOf is a file of records, and recPart a part of one.
func recOf(parts ...string) string { return strings.Join(parts, "") }

func recPart(kind, size uint32, data string) string {
	le := binary.LittleEndian
	head := le.AppendUint32(le.AppendUint32(nil, recMagic), kind<<recKindBit|size)
	return string(head) + data + strings.Repeat("\x00", (4-len(data)%4)%4)
}

// recPicture is a record's bytes: a header with a flag, and what is behind.
func recPicture(flag uint32, behind string) string {
	return string(binary.LittleEndian.AppendUint32(nil, flag)) + strings.Repeat("\x00", recImage-4) + behind
}

// A file that is not whole, whose records lead elsewhere, or that has no records of pictures, is refused, with the record and what to do.
func TestForgedRecordIOIsRefusedByName(t *testing.T) {
	whole := recPart(0, recImage+4, recPicture(0, "p..."))
	for what, c := range map[string]struct{ data, want string }{
		"cut in a record":        {whole + whole[:20], "truncated: record 1 at 36 reaches beyond the 56 bytes; write or copy it again"},
		"cut in a head":          {whole + whole[:7], "truncated: record 1 at 36 reaches beyond the 43 bytes"},
		"cut in padding":         {recPart(0, recImage+1, recPicture(0, "p"))[:recHead+recImage+2], "truncated: record 0 at 0 reaches beyond the 34 bytes"},
		"another magic":          {whole + "RIFF...." + whole, "record 1 at 36: it begins with 46464952, want ced7230a; the file is damaged, or not MXNet's RecordIO; write or copy it again"},
		"not one":                {"PK\x03\x04 and so on", "record 0 at 0: it begins with 04034b50"},
		"goes on from nothing":   {recPart(2, recImage, recPicture(0, "")), "damaged: got a part of kind 2 at 0, want 0 or 1, with which records begin; write or copy it again"},
		"begins in another":      {recPart(1, recImage, recPicture(0, "")) + whole, "damaged: got a part of kind 0 at 32, want 2 or 3, with which they go on"},
		"unknown kind":           {recPart(5, recImage, recPicture(0, "")), "damaged: got a part of kind 5 at 0"},
		"ends without an end":    {recPart(1, recImage, recPicture(0, "")), "truncated: record 0 at 0 reaches"},
		"a part of 3 bytes":      {recPart(1, 3, "abc") + recPart(3, 0, ""), "damaged: a part that another follows has 3 bytes, want a multiple of 4"},
		"no header":              {recPart(0, 5, "hello"), "got 5 bytes, want an image record, which has a header of 24; have a program of yours bring its samples"},
		"too many labels":        {recPart(0, recImage, recPicture(1, "")), "its header tells of 1 labels, and 0 bytes are behind it; the file is damaged, or its records are no pictures; write it again by mxnet.recordio.pack, or have a program"},
		"four billion of labels": {recPart(0, recImage+4, recPicture(math.MaxUint32, "....")), "its header tells of 4294967295 labels, and 4 bytes are behind it"},
		"a label in no part":     {recPart(1, recImage, recPicture(2, "")) + recPart(3, 0, ""), "its header tells of 2 labels, and 4 bytes are behind it"},
		"headers alone":          {recPart(0, recImage+8, recPicture(2, "........")), "no samples"},
		"nothing":                {"", "no samples"},
	} {
		file := filepath.Join(t.TempDir(), "x.rec")
		write(t, file, c.data)
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		}
	}
}

// A record of a header alone is a sample without a picture, where the file does not begin with one as InsightFace's do.
func TestAHeaderAloneIsABadSample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.rec")
	write(t, file, recOf(recPart(0, recImage+4, recPicture(0, "p...")), recPart(0, recImage+8, recPicture(2, "........")), recPart(0, recImage, recPicture(0, ""))))
	s := openS(t, ShardsConfig{Shards: []string{file}})
	var b Buffer
	for i := int64(1); i < 3; i++ {
		if err := s.Read(background, i, &b); s.Len() != 3 || err == nil || !strings.Contains(err.Error(), "got 0 bytes") {
			t.Errorf("sample %d of %d: got %v", i, s.Len(), err)
		}
	}
	write(t, file, recOf(recPart(0, recImage+8, recPicture(2, "........")), recPart(0, recImage, recPicture(0, ""))))
	s = openS(t, ShardsConfig{Shards: []string{file}})
	if err := s.Read(background, 0, &b); s.Len() != 1 || err == nil || !strings.Contains(err.Error(), "got 0 bytes") {
		t.Errorf("of %d: a picture without bytes is passed over: %v", s.Len(), err)
	}
}

// recIndexed refuses a file or indexes it so that every value of every sample, whose records are put together, is within the file.
func recIndexed(t *testing.T, data []byte) error {
	t.Helper()
	b, err := buildRecIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 64})
	if err != nil {
		return err
	}
	indexHolds(t, b, int64(len(data)), func(part string, m indexMember) {
		value := bytes.Clone(data[m.off:][:m.size])
		if m.split {
			if _, err := rejoined(value, encodingMarked(part)); err != nil {
				t.Errorf("a record that was indexed does not go together: %v", err)
			}
		}
	})
	return nil
}

// A file cut anywhere, or with bits flipped, is refused or indexed, and the index holds.
func TestDamagedRecordIOIsRefusedOrIndexed(t *testing.T) {
	for _, name := range []string{"faces", "labels", "parts"} {
		whole, err := os.ReadFile("testdata/rec/" + name + ".rec")
		must(t, err)
		refused := 0
		try := func(_ string, bad []byte) {
			if recIndexed(t, bad) != nil {
				refused++
			}
		}
		n := damage.Count(300)
		damage.Cuts(whole, n, try)
		if cuts := min(n, len(whole)); refused < cuts/2 { // a flipped bit may be in a picture
			t.Errorf("%s: %d of %d cut ones were refused", name, refused, cuts)
		}
		damage.Flips(whole, n, try)
	}
}

// FuzzRecordIO: no file leads out of itself, and no record that is put together out of its own bytes.
func FuzzRecordIO(f *testing.F) {
	for _, name := range []string{"faces", "labels", "parts"} {
		data, err := os.ReadFile("testdata/rec/" + name + ".rec")
		must(f, err)
		f.Add(data)
	}
	f.Add([]byte(recPart(1, 4, "\x01\x00\x00\x00") + recPart(3, recImage, recPicture(0, ""))))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = recIndexed(t, data)
		for _, of := range []string{recFile, recLabels} {
			e := coding{name: of}
			if value, err := rejoined(bytes.Clone(data), &e); err == nil && len(value) > len(data) {
				t.Errorf("got %d bytes of %d", len(value), len(data))
			}
		}
	})
}
