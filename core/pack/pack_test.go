package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/media/whole"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/leak"
)

// testContext ends with the test, and long before package testing loses its patience.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// picture is a PNG whose pixels differ from those of other numbers.
func picture(n, w, h int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(i*n + i/7)
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// tree is a folder of n pictures in two classes, with columns of every kind beside them.
func tree(t *testing.T, n int) string {
	dir := t.TempDir()
	for i := range n {
		base := filepath.Join(dir, []string{"a.b", "ü"}[i%2], fmt.Sprintf("%d.v1", i))
		put(t, base+".PNG", picture(i, 20+i, 30))
		put(t, base+".txt", []byte(strings.Repeat("ß\n", i)))
		put(t, base+".n", []byte(fmt.Sprint(-i)))
		put(t, base+".share", []byte(fmt.Sprint(float64(i)/3)))
		boxes, err := array.AppendNPY(nil, &array.Named{DType: tensor.U8, Shape: []int64{int64(i), 4}, Data: bytes.Repeat([]byte{byte(i)}, 4*i)})
		if err != nil {
			t.Fatal(err)
		}
		put(t, base+".npy", boxes)
	}
	return dir
}

var treeColumns = []source.Column{
	{Name: "caption", From: "txt"}, {Name: "n", Type: source.Int64}, {Name: "share", Type: source.Float64},
	{Name: "boxes", From: "npy", Type: source.Array, DType: tensor.U8, Shape: tensor.Shape{4}, MaxLength: 99},
}

func folder(t *testing.T, dir string, columns []source.Column) source.Source {
	t.Helper()
	s, err := source.OpenFolder(source.FolderConfig{Dir: dir, Labels: true, Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func upTo(n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// sample is what a source says of one.
func sample(t *testing.T, s source.Source, i int64, parts, columns int) string {
	t.Helper()
	var b source.Buffer
	if err := s.Read(testContext(t), i, &b); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%d", s.Label(i))
	for k := range parts {
		text += fmt.Sprintf(" %x", b.Part(k))
	}
	for c := range columns {
		text += fmt.Sprintf(" %x", b.Value(c))
	}
	return text
}

// Labels stay what they are where a class has no sample, and where they are below zero.
func TestLabelsStayWhatTheyAre(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := tree(t, 3)
	put(t, filepath.Join(dir, "list.tsv"), []byte("a.b/0.v1.PNG\t-7\na.b/2.v1.PNG\t-1\n"))
	list, err := source.OpenList(source.ListConfig{File: filepath.Join(dir, "list.tsv"), Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	for _, of := range []struct {
		from    source.Source
		samples []int64
		absent  string
	}{{folder(t, dir, nil), []int64{2}, "[a.b]"}, {list, []int64{0, 1}, "[]"}} {
		out := t.TempDir()
		report, err := Write(testContext(t), Config{Source: of.from, Samples: slices.Values(of.samples), Parts: []Part{{}}, Out: filepath.Join(out, "t.tar")})
		if err != nil || report.ByClass || fmt.Sprint(report.Absent) != of.absent {
			t.Fatalf("%+v, %v", report, err)
		}
		client, _ := store.New(store.Options{})
		defer client.Close()
		to, err := source.OpenShards(testContext(t), source.ShardsConfig{Shards: report.Shards, Store: client})
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		for k, i := range of.samples {
			if got, want := sample(t, to, int64(k), 1, 0), sample(t, of.from, i, 1, 0); got != want {
				t.Errorf("sample %d: got %.80s, want %.80s", i, got, want)
			}
		}
	}
}

// Few samples of large arrays are in memory at a time; room that a text may take is not counted.
func TestLargeColumnsAreFewAtATime(t *testing.T) {
	array := func(bytes int64) source.Column {
		return source.Column{Type: source.Array, DType: tensor.U8, Shape: tensor.Shape{bytes}}
	}
	for want, columns := range map[int][]source.Column{
		16: {array(1 << 20), {Type: source.Text, MaxBytes: 1 << 30}}, 2: {array(48 << 20), {Type: source.Int64}}, 4: {array(16 << 20), array(15 << 20)}, 1: {array(1 << 40)},
	} {
		if got := workersFor(columns); got != want {
			t.Errorf("got %d workers, want %d", got, want)
		}
	}
}

// What is read of the shards is what is read of the folder: bytes, labels, class names and columns, in the order that was asked for, whatever
// the number of workers, and the archives are the same every time.
func TestShardsHoldWhatTheFolderHolds(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	const n = 41
	from := folder(t, tree(t, n), treeColumns)
	order := slices.Collect(upTo(n))
	slices.Reverse(order)
	var first []byte
	for _, workers := range []int{1, 7} {
		dir := t.TempDir()
		told := 0
		report, err := Write(testContext(t), Config{
			Source: from, Samples: slices.Values(order), Parts: []Part{{}}, Columns: []string{"txt", "n.txt", "share", "npy"},
			Out: filepath.Join(dir, "t-%03d.tar"), MaxSamples: 10, Keys: true, Workers: workers, Told: func(*Report) { told++ },
		})
		if err != nil || len(report.Shards) != 5 || report.Samples != n || told != n || !report.ByClass || fmt.Sprint(report.Endings) != "[[png]]" {
			t.Fatalf("%+v, told %d times, %v", report, told, err)
		}
		columns := slices.Clone(treeColumns)
		columns[1].From = "n.txt"
		client, _ := store.New(store.Options{})
		defer client.Close()
		to, err := source.OpenShards(testContext(t), source.ShardsConfig{
			Shards: report.Shards, Labels: source.LabelsOfDirectory, Columns: append(columns, source.Column{Name: "key", From: "key.txt"}), Store: client,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		if !slices.Equal(to.Classes(), from.Classes()) {
			t.Errorf("classes %q, want %q", to.Classes(), from.Classes())
		}
		for at, i := range order {
			key := fmt.Sprintf(" %x", from.Key(i, nil))
			if got, want := sample(t, to, int64(at), 1, 5), sample(t, from, i, 1, 4)+key; got != want {
				t.Fatalf("sample %d at %d: got %.300s, want %.300s", i, at, got, want)
			}
		}
		var all []byte
		for _, shard := range report.Shards {
			b, err := os.ReadFile(shard)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		if first == nil {
			first = all
		}
		if !bytes.Equal(first, all) || int64(len(all)) != report.Bytes {
			t.Errorf("%d workers: other archives, or %d bytes are not %d", workers, len(all), report.Bytes)
		}
	}
}

// A shard is closed before it would be larger than it may, unless one sample alone is.
func TestShardsAreBoundedInBytes(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	from, dir := folder(t, tree(t, 30), nil), t.TempDir()
	report, err := Write(testContext(t), Config{Source: from, Samples: upTo(30), Parts: []Part{{}}, Out: filepath.Join(dir, "%d.tar"), MaxBytes: 20 << 10})
	if err != nil || len(report.Shards) < 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, shard := range report.Shards {
		if st, err := os.Stat(shard); err != nil || st.Size() > 21<<10 {
			t.Errorf("%s has %d bytes, %v", shard, st.Size(), err)
		}
	}
	report, err = Write(testContext(t), Config{Source: from, Samples: upTo(3), Parts: []Part{{}}, Out: filepath.Join(t.TempDir(), "%d.tar"), MaxBytes: 1})
	if err != nil || len(report.Shards) != 3 {
		t.Errorf("of samples that are too large: %+v, %v", report, err)
	}
}

// Pictures whose shorter side is above the bound become JPEGs of that size; others keep their bytes.
func TestLargePicturesBecomeSmaller(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	put(t, filepath.Join(dir, "0.png"), picture(3, 64, 40))
	put(t, filepath.Join(dir, "1.png"), picture(3, 300, 200))
	from := folder(t, dir, nil)
	for _, gray := range []bool{false, true} {
		report, err := Write(testContext(t), Config{
			Source: from, Samples: upTo(2), Parts: []Part{{}}, Out: filepath.Join(t.TempDir(), "s.tar"), Smaller: &Smaller{Side: 40, Quality: 95, Gray: gray},
		})
		if err != nil || report.Shrunk != 1 || fmt.Sprint(report.Endings) != "[[jpg png]]" {
			t.Fatalf("%+v, %v", report, err)
		}
		client, _ := store.New(store.Options{})
		to, err := source.OpenShards(testContext(t), source.ShardsConfig{Shards: report.Shards, Store: client})
		if err != nil {
			t.Fatal(err)
		}
		var b source.Buffer
		if err := to.Read(testContext(t), 1, &b); err != nil {
			t.Fatal(err)
		}
		m, err := jpeg.Decode(bytes.NewReader(b.Bytes()))
		if err != nil || m.Bounds().Dx() != 60 || m.Bounds().Dy() != 40 || (m.ColorModel() == color.GrayModel) != gray {
			t.Errorf("gray %v: got %v of %v, %v", gray, m.Bounds(), m.ColorModel(), err)
		}
		if err := to.Read(testContext(t), 0, &b); err != nil || !bytes.Equal(b.Bytes(), picture(3, 64, 40)) {
			t.Errorf("a small picture is another: %v", err)
		}
		_, _ = to.Close(), client
		client.Close()
	}
}

// A bad sample ends it, or is left out and counted; of what was begun nothing is left that is not whole.
func TestBadSamplesEndItOrAreLeftOut(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	in, out := t.TempDir(), t.TempDir()
	for i := range 6 {
		put(t, filepath.Join(in, fmt.Sprintf("%d.png", i)), picture(i, 50, 50))
	}
	put(t, filepath.Join(in, "3.png"), nil)
	from := folder(t, in, nil)
	c := Config{Source: from, Samples: upTo(6), Parts: []Part{{}}, Out: filepath.Join(out, "%d.tar"), MaxSamples: 2}
	report, err := Write(testContext(t), c)
	var bad *source.Error
	if !errors.As(err, &bad) || bad.Index != 3 || len(report.Shards) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if left := leak.Names(t, out); fmt.Sprint(left) != "[0.tar]" {
		t.Errorf("left %v", left)
	}
	c.Out, c.SkipBad = filepath.Join(out, "skipped-%d.tar"), true
	report, err = Write(testContext(t), c)
	if err != nil || report.Samples != 5 || report.Bad != 1 || len(report.Examples) != 1 || !strings.Contains(report.Examples[0], "3.png") {
		t.Errorf("%+v, %v", report, err)
	}
	put(t, filepath.Join(in, "3.png"), []byte("no picture"))
	c.Out, c.Smaller = filepath.Join(out, "smaller-%d.tar"), &Smaller{Side: 20, Quality: 90}
	if report, err = Write(testContext(t), c); err != nil || report.Bad != 1 || report.Shrunk != 5 || !strings.Contains(report.Examples[0], `pack: sample 3 "3.png": `) {
		t.Errorf("%+v, %v", report, err)
	}
	c.Out, c.Samples = filepath.Join(out, "none-%d.tar"), slices.Values([]int64{3, 3})
	if report, err = Write(testContext(t), c); !errors.Is(err, source.ErrNoSamples) || report.Bad != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A run that is interrupted leaves whole archives alone.
func TestInterruptedRunsLeaveNothingHalf(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	from, out := folder(t, tree(t, 20), nil), t.TempDir()
	ctx, cancel := context.WithCancel(testContext(t))
	report, err := Write(ctx, Config{Source: from, Samples: upTo(20), Parts: []Part{{}}, Out: filepath.Join(out, "%d.tar"), MaxSamples: 5, Told: func(r *Report) {
		if r.Samples == 8 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(report.Shards) != 1 || fmt.Sprint(leak.Names(t, out)) != "[0.tar]" {
		t.Errorf("%+v, %v, left %v", report, err, leak.Names(t, out))
	}
}

// Names that are taken, or cannot be, are refused before anything is read.
func TestNamesOfArchivesAreRefused(t *testing.T) {
	dir := t.TempDir()
	from := folder(t, tree(t, 2), nil)
	put(t, filepath.Join(dir, "a-17.tar"), []byte("somebody's"))
	put(t, filepath.Join(dir, "one.tar"), []byte("somebody's"))
	for out, want := range map[string]string{
		"a-%d.tar":         "the name is taken by \"" + dir + "/a-17.tar\"; remove what an earlier run wrote, or choose another",
		"one.tar":          "the name is taken by \"" + dir + "/one.tar\"",
		"b-%d-%d.tar":      "want one number such as %06d, and no other %",
		"b-%s.tar":         "want one number such as %06d, and no other %",
		"b-%d.zip":         "no name for archives: want one that ends in .tar",
		"none/b-%d.tar":    "no such file or directory; make the directory first",
		"shard%d/data.tar": "want the number in the archive's own, not in a directory's",
	} {
		_, err := Write(testContext(t), Config{Source: from, Samples: upTo(2), Parts: []Part{{}}, Out: filepath.Join(dir, out)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", out, err, want)
		}
	}
	_, err := Write(testContext(t), Config{Source: from, Samples: upTo(2), Parts: []Part{{}}, Out: filepath.Join(dir, "c.tar"), MaxSamples: 1})
	if want := `it has no number, so there is one archive; write "` + filepath.Join(dir, "c-%06d.tar") + `", or leave out the bound`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if left := leak.Names(t, dir); fmt.Sprint(left) != "[a-17.tar one.tar]" {
		t.Errorf("left %v", left)
	}
}

// A part without a telling name is called what its bytes are.
func TestPartsAreCalledWhatTheyAre(t *testing.T) {
	for name, want := range map[string]string{"a/b.JPEG": "jpeg", "a/b.mp4?x": "png", "a.b/c": "png", "": "png", "x.tar.0123456": "png", "a/7.cls": "png"} {
		if got := endingOf(picture(1, 2, 2), name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	for data, want := range map[string]string{
		"fLaC....": "flac", "II*\x00....": "tif", "II+\x00....": "tif", "P6\n1 1\n255\nrgb": "ppm", "P5 1 1 255 g": "pgm", "qoif........": "qoi", "8BPS........": "psd", "\x1aE\xdf\xa3....": "mkv",
		"\x00\x00\x00\x0cjP  \r\n\x87\n": "jp2", "\x59\xa6\x6a\x95....": "ras", "GIF89a......": "gif", "\x00\x00\x00\x20ftypavif....": "avif", "\x00\x00\x00\x20ftypheic....": "heic",
		"RIFF....WAVEfmt ": "wav", "RIFF....WEBPVP8 ": "webp", "OggS\x00....": "ogg", "\xff\xd8\xff\xe0": "jpg", "ID3\x03": "mp3", "nothing that is known": "",
	} {
		if got := endingOf([]byte(data), ""); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
}

// What a run left that was killed goes with the next run of the same names; while another one is writing some of them, they are taken.
func TestNextRunSweepsAwayWhatAKilledOneLeft(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	live, err := whole.Create(filepath.Join(dir, "t-000.tar"))
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, leak.Names(t, dir)[0])
	for _, name := range []string{".t-007.tar.0123456789abcdef.part", ".t-1000.tar.0123456789abcdef.part", ".u-007.tar.0123456789abcdef.part"} {
		put(t, filepath.Join(dir, name), []byte("left"))
	}
	config := Config{Source: folder(t, tree(t, 3), nil), Samples: upTo(3), Parts: []Part{{}}, Out: filepath.Join(dir, "t-%03d.tar")}
	if _, err := Write(testContext(t), config); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), fmt.Sprintf("another run is writing %q", part)) {
		t.Errorf("beside a run that writes the same names: %v", err)
	}
	if _, err := os.Stat(part); err != nil {
		t.Error(err)
	}
	live.Abandon()
	if _, err := Write(testContext(t), config); err != nil {
		t.Fatal(err)
	}
	if got, want := leak.Names(t, dir), []string{".u-007.tar.0123456789abcdef.part", "t-000.tar"}; !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
}

// Names are one run's at a time, its lock goes with it, and one that a killed run left is taken over.
func TestNamesAreOneRunsAtATime(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".t-%d.tar.lock"), nil)
	first, err := claimNames(dir, "t-%d.tar")
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Source: folder(t, tree(t, 3), nil), Samples: upTo(3), Parts: []Part{{}}, Out: filepath.Join(dir, "t-%03d.tar")}
	if _, err := Write(testContext(t), config); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "another run is writing archives of these names; wait for its end") {
		t.Errorf("beside a run that has these names: %v", err)
	}
	if got := leak.Names(t, dir); !slices.Equal(got, []string{".t-%d.tar.lock"}) {
		t.Errorf("left %q, want the lock of the other alone", got)
	}
	first.end()
	if _, err := Write(testContext(t), config); err != nil {
		t.Error(err)
	}
	if got := leak.Names(t, dir); !slices.Equal(got, []string{"t-000.tar"}) {
		t.Errorf("left %q, want the archive alone", got)
	}
	if _, err := Write(testContext(t), config); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), `by "`+dir+`/t-000.tar"`) {
		t.Errorf("beside an archive: %v", err)
	}
	// Of those who come and go one has them at a time.
	var owners sync.WaitGroup
	var holding atomic.Int32
	for range 8 {
		owners.Add(1)
		go func() {
			defer owners.Done()
			for got := 0; got < 50; {
				c, err := claimNames(dir, "u.tar")
				if errors.Is(err, errClaimed) {
					continue
				}
				if err != nil || holding.Add(1) != 1 {
					t.Errorf("%v, or two have the names", err)
					return
				}
				got++
				holding.Add(-1)
				c.end()
			}
		}()
	}
	owners.Wait()
	if got := leak.Names(t, dir); !slices.Equal(got, []string{"t-000.tar"}) {
		t.Errorf("left %q", got)
	}
}

// A class whose samples WebDataset's readers would pass over is refused by its name; others keep theirs.
func TestClassesThatAreNoDirectoriesAreRefused(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	for class, good := range map[string]bool{"__x__": false, "__x": true, "x__": true, "____": false, "__a__b__": false, "__a__b": true, "_x_": true} {
		dir, out := t.TempDir(), t.TempDir()
		put(t, filepath.Join(dir, class, "0.png"), picture(1, 4, 4))
		put(t, filepath.Join(dir, "y", "1.png"), picture(2, 4, 4))
		report, err := Write(testContext(t), Config{Source: folder(t, dir, nil), Samples: upTo(2), Parts: []Part{{}}, Out: filepath.Join(out, "t.tar")})
		if want := fmt.Sprintf("pack: class %q: WebDataset's readers pass over what lies in a directory whose name begins and ends with __; call it otherwise, or say labels: none", class); good != (err == nil && report.ByClass) || !good && (err == nil || err.Error() != want) {
			t.Errorf("%s: got %v, want %s", class, err, want)
		}
	}
}

// classes are a source's with other names of classes.
type classes struct {
	source.Source
	names []string
}

func (c classes) Classes() []string { return c.names }

// Where directories would give other labels, or cannot be called so, keys are without them, and labels are those of the parts cls.
func TestClassesThatAreNoDirectories(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := tree(t, 3)
	from := folder(t, dir, nil)
	for _, names := range [][]string{{"b", "a", "c"}, {"a", "b/c", "d"}, {"", "a", "b"}, {"..", "a", "b"}} {
		out := t.TempDir()
		report, err := Write(testContext(t), Config{Source: classes{from, names}, Samples: upTo(3), Parts: []Part{{}}, Out: filepath.Join(out, "t.tar")})
		if err != nil || !report.Unnamed || report.ByClass {
			t.Fatalf("%q: %+v, %v", names, report, err)
		}
		client, _ := store.New(store.Options{})
		to, err := source.OpenShards(testContext(t), source.ShardsConfig{Shards: report.Shards, Store: client})
		if err != nil {
			t.Fatal(err)
		}
		for i := range to.Len() {
			if got, want := to.Label(i), from.Label(i); got != want || strings.Contains(string(to.Key(i, nil)), "/") {
				t.Errorf("%q: sample %q: label %d, want %d", names, to.Key(i, nil), got, want)
			}
		}
		to.Close()
		client.Close()
	}
}
