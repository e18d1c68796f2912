package source

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

// sized is a field of bytes of a message.
func sized(number byte, data ...[]byte) []byte {
	all := bytes.Join(data, nil)
	return append(binary.AppendUvarint([]byte{number<<3 | wireBytes}, uint64(len(all))), all...)
}

// feature is one of an Example: bytes, numbers, or several.
func feature(name string, values any) []byte {
	var list []byte
	switch v := values.(type) {
	case string:
		list = sized(1, sized(1, []byte(v)))
	case []string:
		for _, text := range v {
			list = append(list, sized(1, []byte(text))...)
		}
		list = sized(1, list)
	case []int64:
		for _, x := range v {
			list = binary.AppendUvarint(list, uint64(x))
		}
		list = sized(3, sized(1, list))
	case []float32:
		for _, x := range v {
			list = binary.LittleEndian.AppendUint32(list, math.Float32bits(x))
		}
		list = sized(2, sized(1, list))
	case []byte: // of a Feature, as it is
		list = v
	}
	return sized(1, sized(1, []byte(name)), sized(2, list))
}

func example(features ...[]byte) []byte { return sized(1, features...) }

// recordOf frames data as TFRecord does.
func recordOf(data []byte) []byte {
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	head = binary.LittleEndian.AppendUint32(head, recordSum(head))
	return binary.LittleEndian.AppendUint32(append(head, data...), recordSum(data))
}

func recordsOf(examples ...[]byte) (all []byte) {
	for _, e := range examples {
		all = append(all, recordOf(e)...)
	}
	return all
}

// pictureRecord is one with every kind of feature.
func pictureRecord(i int64) []byte {
	wide := []int64{1 << 40, -i}
	return example(feature("image/encoded", fmt.Sprintf("picture %d", i)), feature("image/class/label", []int64{i}), feature("big", []int64{-i - 1<<40}), feature("text", fmt.Sprintf("text %d", i)),
		feature("score", []float32{float32(i) / 2}), feature("box", []float32{1, 2, 3, float32(i)}), feature("ids", wide[:i%3]), feature("none", []byte{}), feature("several", []string{"a", "b"}),
		// As older writers have them: each number by itself.
		feature("alone", sized(3, binary.AppendUvarint([]byte{1<<3 | wireVarint}, uint64(i)), []byte{1<<3 | wireVarint, 7})))
}

var recordColumns = []Column{{Name: "big", Type: Int64}, {Name: "text"}, {Name: "score", Type: Float64}, listOf("box", tensor.F32, 9, 4), listOf("ids", tensor.I64, 2), listOf("alone", tensor.U8, 0, 2),
	{Name: "whole", From: "image/class/label", Type: Float64}}

// Examples are samples and their features the parts: pictures, texts, numbers and lists of them, whatever the file is called, on a disk and over the network.
func TestExamplesOfRecordsAreSamples(t *testing.T) {
	var all []byte
	const n = 250
	for i := range int64(n) {
		all = append(all, recordOf(pictureRecord(i))...)
	}
	dir := t.TempDir()
	objects := map[string]string{}
	origin := serveObjects(t, objects)
	client := storeClient(t, store.Options{})
	for _, name := range []string{"x.tfrecord", "x.tfrecord-00000-of-00001", "train-00000-of-00001"} {
		write(t, filepath.Join(dir, name), string(all))
		if !AreRecords(filepath.Join(dir, name)) || AreRecords(dir) || AreRecords(filepath.Join(dir, "none")) {
			t.Errorf("%s is not told by what it begins with", name)
		}
		origin.change(func() { objects["/b/"+name] = string(all) })
		for _, file := range []string{filepath.Join(dir, name), origin.URL + "/b/" + name} {
			for range 2 { // the second time with the index that was kept
				s, err := OpenShards(background, ShardsConfig{Shards: []string{file}, Columns: recordColumns, IndexDir: filepath.Join(dir, "index"), Store: client})
				must(t, err)
				if s.Len() != n {
					t.Fatalf("%s: %d samples", file, s.Len())
				}
				for _, i := range []int64{0, 1, 2, 5, n - 1} {
					b, picture := read(t, s, i)
					ids := [][]float64{nil, {1 << 40}, {1 << 40, float64(-i)}}[i%3]
					got := fmt.Sprint(picture, s.Label(i), string(s.Key(i, nil)), int64(binary.NativeEndian.Uint64(b.Value(0))), string(b.Value(1)), elementsOf(tensor.F64, b.Value(2)), elementsOf(tensor.F32, b.Value(3)),
						elementsOf(tensor.I64, b.Value(4)), b.Value(5), elementsOf(tensor.F64, b.Value(6)))
					want := fmt.Sprint(fmt.Sprintf("picture %d", i), i, fmt.Sprint(i), -i-1<<40, fmt.Sprintf("text %d", i), []float64{float64(i) / 2}, []float64{1, 2, 3, float64(i)}, ids, []byte{byte(i), 7}, []float64{float64(i)})
					if got != want {
						t.Errorf("%s: sample %d: got %s, want %s", file, i, got, want)
					}
				}
				known := s.(Knowing).Known("big")
				if known == nil || known(3) != int64(-3-1<<40) {
					t.Errorf("%s: whole numbers are not known without reading", file)
				}
				must(t, s.Close())
			}
		}
	}
}

// The picture and the label may be called otherwise, in files without either they are none.
func TestNamesOfFeatures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, file, string(recordsOf(example(feature("image", "p"), feature("label", []int64{3})), example(feature("label", []int64{4}), feature("image", "q")))))
	s := openS(t, ShardsConfig{Shards: []string{file}})
	if _, picture := read(t, s, 1); picture != "q" || s.Label(1) != 4 {
		t.Errorf("got %q, %d", picture, s.Label(1))
	}
	write(t, file, string(recordsOf(example(feature("raw", "p"), feature("class", []int64{3}), feature("image", []int64{3})))))
	_, err := OpenShards(background, ShardsConfig{Shards: []string{file}})
	if err == nil || !strings.Contains(err.Error(), "no part is a picture by its ending; the parts are raw, class, image; say which is in source.image") {
		t.Errorf("got %v", err)
	}
	s = openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{{From: []string{"raw"}}}, Label: "class"})
	if _, picture := read(t, s, 0); picture != "p" || s.Label(0) != 3 {
		t.Errorf("got %q, %d", picture, s.Label(0))
	}
	parts, err := PartsOf(background, ShardsConfig{Shards: []string{file}})
	if slices.Sort(parts); err != nil || !slices.Equal(parts, []string{"class", "image", "raw"}) {
		t.Errorf("parts %q, %v", parts, err)
	}
}

// Files that are none, damaged, compressed or of other messages are refused with the record and where it is.
func TestRecordsThatAreNotSound(t *testing.T) {
	good := recordsOf(pictureRecord(0), pictureRecord(1))
	first := len(recordOf(pictureRecord(0)))
	spoilt := bytes.Clone(good)
	spoilt[first+2] ^= 4
	for want, data := range map[string][]byte{
		"record 0 at 0: its length has the checksum 82612a4f, want 65742061; the file is damaged, or no TFRecord; write or copy it again": []byte("this is a text and no record at all"),
		fmt.Sprintf("record 1 at %d: its length has the checksum ", first):                                                                spoilt,
		fmt.Sprintf("truncated: record 1 at %d reaches beyond the %d bytes", first, len(good)-1):                                          good[:len(good)-1],
		fmt.Sprintf("truncated: record 2 at %d reaches beyond the %d bytes", len(good), len(good)+5):                                      append(bytes.Clone(good), 1, 2, 3, 4, 5),
		"record 0 at 0: it is no tf.train.Example or SequenceExample, or damaged; write or copy it again":                                 recordOf([]byte(`{"text": "JSON"}`)),
		"record 0 at 0: it has no features; want a tf.train.Example":                                                                      recordOf(nil),
		`record 0 at 0: feature "a": it is there twice`:                                                                                   recordOf(example(feature("a", "x"), feature("a", "y"))),
		`record 0 at 0: a feature has the name "", want one of 1 to 126 bytes`:                                                            recordOf(example(feature(strings.Repeat("a", 127), "x"))),
		`record 0 at 0: a feature has the name "a\x00b", want one of 1 to 126 bytes`:                                                      recordOf(example(feature("a\x00b", "x"))),
		"got 1 archives without a member that could be one":                                                                               {},
	} {
		file := filepath.Join(t.TempDir(), "x.tfrecord")
		write(t, file, string(data))
		if strings.HasPrefix(want, "record 0 at 0: its length") && AreRecords(file) {
			t.Errorf("%q passes for records", data)
		}
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A record whose data are not those of its checksum is a bad sample that says which record it is, where, and both checksums, whichever of its features is
// wanted, over the network as well, alone or together with its neighbours. The other records are not disturbed.
func TestRecordsAreCheckedAsTheyAreRead(t *testing.T) {
	const spoilt = 3
	records := [][]byte{}
	for i := range int64(6) {
		records = append(records, recordOf(pictureRecord(i)))
	}
	at := len(bytes.Join(records[:spoilt], nil))
	size := len(records[spoilt]) - recordHead - recordEnd
	sum := binary.LittleEndian.Uint32(records[spoilt][recordHead+size:])
	text := bytes.Index(records[spoilt], []byte("text 3")) // a value: the index finds nothing amiss
	for _, byteAt := range []int{text, len(records[spoilt]) - 1} {
		bad := bytes.Clone(records[spoilt])
		bad[byteAt] ^= 1
		got, want, _ := sumBehind(bad[recordHead:])
		if (want == sum) != (byteAt == text) {
			t.Fatal("the wrong byte")
		}
		data := bytes.Join(append(append(slices.Clone(records[:spoilt]), bad), records[spoilt+1:]...), nil)
		file := filepath.Join(t.TempDir(), "x.tfrecord")
		write(t, file, string(data))
		origin := serveObjects(t, map[string]string{"/x.tfrecord": string(data)})
		for _, name := range []string{file, origin.URL + "/x.tfrecord"} {
			for _, c := range []ShardsConfig{{}, {Columns: recordColumns}, {Media: none, Columns: recordColumns[2:3]}} {
				c.Shards, c.IndexDir, c.Store = []string{name}, t.TempDir(), storeClient(t, store.Options{})
				s := openS(t, c)
				for _, ahead := range []bool{false, true} {
					if ahead {
						s.(Planned).Ahead([]int64{2, 3, 4})
					}
					for _, i := range []int64{2, 3, 4} {
						var b Buffer
						err := s.Read(background, i, &b)
						if i != spoilt {
							must(t, err)
							continue
						}
						message := fmt.Sprintf(`source: sample 3 "3" of %q: checksum: record 3 at %d: its %d bytes of data have the checksum %08x, want %08x; the file is damaged: write or copy it again`,
							store.Shown(name), at, size, got, want)
						if err == nil || err.Error() != message || len(b.Bytes()) != 0 {
							t.Errorf("got %v, want %s", err, message)
						}
					}
				}
			}
		}
	}
}

// Of a record larger than a medium may be what is wanted is read, and no more.
func TestSmallFeaturesOfLargeRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, file, string(recordsOf(example(feature("image", "p"), feature("much", strings.Repeat("x", 5000)), feature("n", []int64{7})))))
	for most, pieces := range map[int64]int{1000: 1, 0: 1} {
		s := openS(t, ShardsConfig{Shards: []string{file}, MaxFileBytes: most})
		b, picture := read(t, s, 0)
		if picture != "p" || len(b.pieces) != pieces || (b.pieces[0].size > 1000) != (most == 0) {
			t.Errorf("at most %d bytes: %q of pieces %+v", most, picture, b.pieces)
		}
	}
}

// An index of the time when records were not checked is made again.
func TestIndexesOfUncheckedRecords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tfrecord")
	write(t, file, string(recordsOf(pictureRecord(1))))
	c := ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}
	s := openS(t, c).(*shards)
	b := newIndexBuilder()
	b.samples, b.keys = []uint32{0, 0}, []byte("0")
	part, err := b.part([]byte("image/encoded" + bytesMark))
	must(t, err)
	b.members = []indexMember{{off: 20, size: 5, part: part}}
	must(t, writeFile(s.all[0].index.file, b.encode(s.all[0].version)))
	again := openS(t, c)
	if _, picture := read(t, again, 0); picture != "picture 1" || !slices.Contains(again.(*shards).notes, "made the index of 1 of 1 shards") {
		t.Errorf("got %q, %q", picture, again.(*shards).notes)
	}
}

// Compressed records are refused with how, and with a command that unpacks them, whatever they are called.
func TestCompressedRecordsAreRefusedWithWhatUnpacksThem(t *testing.T) {
	plain := recordsOf(pictureRecord(0), pictureRecord(1))
	zipped, zlibbed := &bytes.Buffer{}, &bytes.Buffer{}
	for _, w := range []io.WriteCloser{gzip.NewWriter(zipped), zlib.NewWriter(zlibbed)} {
		_, err := w.Write(plain)
		must(t, errors.Join(err, w.Close()))
	}
	for as, packed := range map[string][]byte{"GZIP": zipped.Bytes(), "ZLIB": zlibbed.Bytes()} {
		command := unpacking[as]
		for name, want := range map[string]string{"x.tfrecord": "record 0 at 0: ", "x.tfrecord.gz": "record 0 at 0: ", "train-00000-of-00001": "want a name that ends in .tar, .zip, .parquet, .arrow, .mds, .rec, .array_record, .mdb or .lmdb, or a TFRecord; if it is one, "} {
			file := filepath.Join(t.TempDir(), name)
			write(t, file, string(packed))
			want += "it is compressed (" + as + "), so no record is found without unpacking all before it; unpack the file once (" + command + "), or write it without compression"
			if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
		run := exec.Command("sh", "-c", command)
		if run.Dir = t.TempDir(); exec.Command("sh", "-c", "command -v "+strings.Fields(command)[0]).Run() != nil {
			continue // the machine has no such program
		}
		write(t, run.Dir+"/FILE", string(packed))
		out, err := run.CombinedOutput()
		unpacked, _ := os.ReadFile(run.Dir + "/PLAIN")
		if err != nil || !bytes.Equal(unpacked, plain) {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
}

// Numbers that are not what a column wants make a bad sample, which says so.
func TestFeaturesThatAreNotWanted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, file, string(recordsOf(example(feature("i", []int64{300, -1}), feature("f", []float32{0.5}), feature("image", "p"), feature("several", []string{"a", "b"}), feature("damaged", sized(3, []byte{9, 9}))))))
	for want, c := range map[string]Column{
		`column "i": got 2 numbers, want one`:                                                      {From: "i", Type: Int64},
		`column "i": got 300, want a whole number that u8 holds`:                                   listOf("i", tensor.U8, 4),
		`column "i": got a list of more than 1, want at most that; raise max_length of the column`: listOf("i", tensor.I64, 1),
		`column "i": got 2 numbers, want shape 3`:                                                  listOf("i", tensor.I64, 0, 3),
		`column "i": got 2 numbers, want shape -1x4`:                                               listOf("i", tensor.I64, 3, 4),
		`column "i": a feature of whole numbers, want a column of type i64, f64 or list`:           {From: "i"},
		`column "f": a feature of floats, want a column of type f64 or list`:                       {From: "f", Type: Int64},
		`column "several": a feature of several values of bytes, want one, or numbers`:             {From: "several"},
		`column "f": got 0.5, want a whole number that i64 holds`:                                  listOf("f", tensor.I64, 3),
		`column "damaged": its numbers are damaged`:                                                listOf("damaged", tensor.I64, 3),
	} {
		refusesValue(t, file, c, want)
	}
	s := openS(t, ShardsConfig{Shards: []string{file}, Label: "i"})
	var b Buffer
	if err := s.Read(background, 0, &b); err == nil || !strings.Contains(err.Error(), `label: feature "i" has not one whole number but none, or several`) {
		t.Errorf("got %v", err)
	}
}

// A feature that is of one type here and of another there, as programs write that guess the type of an empty list, says so where it is not the column's.
func TestFeaturesOfTwoTypesAreNamedSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, file, string(recordsOf(example(feature("image", "p"), feature("x", []float32{0.5})), example(feature("image", "p"), feature("x", []int64{})))))
	s := openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{listOf("x", tensor.F32, 4)}})
	var b Buffer
	err := s.Read(background, 0, &b)
	if want := `column "x": it is a feature of floats, where other records of the file have whole numbers; write the feature with one type`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	must(t, s.Read(background, 1, &b))
}

// refusesValue reads a column of the first record, whose value cannot be had.
func refusesValue(t *testing.T, file string, c Column, want string) {
	t.Helper()
	c.Name = c.From
	s := openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{c}})
	var b Buffer
	var e *Error
	if err := s.Read(background, 0, &b); !errors.As(err, &e) || e.Cause != Value || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v: got %v, want %q", c, err, want)
	}
}

// indexedRecords fails where the index made of records cannot be read, and reads their numbers.
func indexedRecords(t *testing.T, data []byte) error {
	t.Helper()
	b, err := buildRecordIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 64})
	if err != nil {
		return err
	}
	indexHolds(t, b, int64(len(data)), func(part string, m indexMember) {
		var buffer Buffer
		for _, mark := range []string{wholesMark, floatsMark, wholeStepsMark, floatStepsMark} {
			if strings.HasSuffix(part, mark) {
				c := listOf("x", tensor.F64, math.MaxInt32)
				_ = buffer.setFeature(&c, data[m.off:][:m.size], mark)
			}
		}
	})
	return nil
}

func mendLengths(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 0; at+recordHead <= len(data); {
		binary.LittleEndian.PutUint32(data[at+8:], recordSum(data[at:at+8]))
		n := binary.LittleEndian.Uint64(data[at:])
		if n > uint64(len(data)) {
			break
		}
		at += recordHead + int(n) + recordEnd
	}
	return data
}

// Damaged records are an error or other samples, and never end the process.
func TestDamagedRecords(t *testing.T) {
	damage.Flips(recordsOf(pictureRecord(1), sequenceRecord(2)), damage.Count(20000), func(_ string, bad []byte) { _ = indexedRecords(t, mendLengths(bad)) })
}

func FuzzRecords(f *testing.F) {
	f.Add(recordsOf(pictureRecord(1), pictureRecord(2)))
	f.Add(recordsOf(example(feature("a", "x")), sequenceRecord(3)))
	f.Fuzz(func(t *testing.T, data []byte) { _ = indexedRecords(t, mendLengths(data)) })
}
