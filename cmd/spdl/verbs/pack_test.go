package verbs

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/pack"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/leak"
)

// A folder is packed into shards in the order of its first epoch, and what pack prints reads them: the same batches, but for the names of samples.
func TestPackedShardsGiveTheFoldersBatches(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	file := describe(t, dir, name, "order: {seed: 9}\nring: {hash: xxh3}\n")
	for _, beside := range []bool{false, true} {
		out := t.TempDir()
		args := []string{"pack", file, "--out", filepath.Join(out, "t-%03d.tar"), "--shard-samples", "4"}
		if beside {
			args = append(args, "--index-beside")
		}
		printed := good(t, args...)
		if !strings.HasPrefix(printed, "# 10 samples in 3 shards, ") || !strings.Contains(printed, filepath.Join(out, "t-{000..002}.tar")) {
			t.Fatalf("got %s", printed)
		}
		if _, err := os.Stat(filepath.Join(out, "t-000.tar.spdl-index")); (err == nil) != beside {
			t.Errorf("beside %v: an index beside: %v", beside, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, "source:") {
				lines = append(lines, strings.Replace(line, "order: {", "order: {shuffle: false, ", 1))
			}
		}
		packed := filepath.Join(t.TempDir(), "packed.yaml")
		if err := os.WriteFile(packed, []byte(printed+strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		for step := range 3 {
			want, got := again(t, file, fmt.Sprint(step)), again(t, packed, fmt.Sprint(step))
			if got.Hash != want.Hash || want.Hash == "" {
				t.Errorf("step %d: hash %s, want %s", step, got.Hash, want.Hash)
			}
		}
		if report := good(t, "check", packed); !strings.Contains(report, "2 classes (blue, red)") {
			t.Errorf("the classes are others:\n%s", report)
		}
	}
}

// A table's media and columns become parts, and what is printed says which.
func TestPackedTablesSayTheirParts(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir, out := pictures(t, 4), t.TempDir()
	boxes, err := array.AppendNPY(nil, &array.Named{DType: tensor.F32, Shape: []int64{2, 4}, Data: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	table := "left,right,text,score,boxes\n"
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.npy", i)), boxes, 0o600); err != nil {
			t.Fatal(err)
		}
		table += fmt.Sprintf("%s,%s,\"it's %d\",%d.5,%d.npy\n", file, files[0], i, i, i)
	}
	list := filepath.Join(dir, "list.csv")
	if err := os.WriteFile(list, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	const fields = "fields:\n  left: {image: {from: %s, transform: [{resize: [8, 8]}]}}\n  right: {image: {from: %s, transform: [{resize: [8, 8]}]}}\n"
	const order = "order: {shuffle: false}\nring: {hash: xxh3}\n"
	file := filepath.Join(dir, "x.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf("source: {list: list.csv, columns: [text, {name: score, type: f64}, {name: boxes, type: npy, shape: [-1, 4], max_length: 3}]}\n"+fields, "left", "right")+order), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := good(t, "pack", file, "--out", filepath.Join(out, "one.tar"), "--no-shuffle")
	source, rest, _ := strings.Cut(strings.TrimPrefix(printed[strings.Index(printed, "\n"):], "\n"), "\n")
	if want := "fields.left.image: {\"from\":[\"jpg\"]}\nfields.right.image: {\"from\":[\"right.jpg\"]}\n"; rest != want {
		t.Fatalf("got %q, want %q", rest, want)
	}
	packed := filepath.Join(dir, "packed.yaml")
	if err := os.WriteFile(packed, []byte(source+"\n"+fmt.Sprintf(fields, "jpg", "right.jpg")+order), 0o600); err != nil {
		t.Fatal(err)
	}
	want, got := again(t, file, "0"), again(t, packed, "0")
	if got.Hash != want.Hash || want.Hash == "" {
		t.Errorf("hash %s, want %s\n%s", got.Hash, want.Hash, printed)
	}
}

// Of LMDB the templates of keys are no names of parts: pictures end in what they are, and texts in the column's name.
func TestPackedLMDBHasEndings(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	database, err := filepath.Abs("../../../core/source/testdata/lmdb/text")
	if err != nil {
		t.Fatal(err)
	}
	const rest = "image: {transform: [{resize: [8, 8]}]}\norder: {shuffle: false}\nring: {hash: xxh3}\n"
	for _, image := range []string{"", ", image: 'image-{n:09d}'"} {
		file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {shards: "+database+image+", columns: [{name: Text, from: 'label-{n:09d}'}]}\n"+rest)
		out := filepath.Join(t.TempDir(), "one.tar")
		printed := good(t, "pack", file, "--out", out, "--no-shuffle")
		_, source, _ := strings.Cut(printed, "\n")
		data, err := os.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		endings := map[string]bool{}
		for archive := tar.NewReader(data); ; {
			h, err := archive.Next()
			if err != nil {
				break
			}
			_, ending, _ := strings.Cut(h.Name, ".")
			endings[ending] = true
		}
		if err := data.Close(); err != nil {
			t.Fatal(err)
		}
		if want := map[string]bool{"jpg": true, "png": true, "text.txt": true}; !maps.Equal(endings, want) {
			t.Errorf("got parts %v, want %v", endings, want)
		}
		want, got := again(t, file, "0"), again(t, writeFile(t, filepath.Join(dir, "packed.yaml"), source+rest), "0")
		if got.Hash != want.Hash || want.Hash == "" {
			t.Errorf("got %+v, want %+v\n%s", got, want, printed)
		}
	}
}

// Parts have different names, and what is printed says which is the picture, whatever columns are called and read from.
func TestPackedColumnsAreNoOtherParts(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(pictures(t, 2), "*", "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for i, file := range files[:2] {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Join(dir, "f", fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
			t.Fatal(err)
		}
		ending := filepath.Ext(file)
		writeFile(t, base+ending, string(data))
		writeFile(t, base+".gif", fmt.Sprintf("mask %d", i))
		writeFile(t, base+".json", fmt.Sprintf(`{"a": %d, "b": "%d", "k": "x"}`, i, i))
	}
	const columns = `[{name: mask, from: gif}, {name: A, from: "json[a]", type: i64}, {name: a, from: "json[b]"}, {name: Key, from: "json[k]"}]`
	const rest = "image: {transform: [{resize: [8, 8]}]}\norder: {shuffle: false}\nring: {hash: xxh3}\n"
	ending := strings.TrimPrefix(filepath.Ext(files[0]), ".")
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {folder: f, labels: none, extensions: ["+ending+"], columns: "+columns+"}\n"+rest)
	for _, more := range [][]string{{}, {"--keys", "--resize", "4"}} {
		out := filepath.Join(t.TempDir(), "one.tar")
		printed := good(t, append([]string{"pack", file, "--out", out, "--no-shuffle"}, more...)...)
		source, from, _ := strings.Cut(strings.TrimPrefix(printed[strings.Index(printed, "\n"):], "\n"), "\n")
		if want := "image: {\"from\":[\""; !strings.HasPrefix(from, want) || !strings.Contains(source, `"from":"a-2.txt"`) {
			t.Fatalf("got %q %q", source, from)
		}
		packed := writeFile(t, filepath.Join(dir, "packed.yaml"), source+"\n"+strings.Replace(rest, "image: {", "image: {"+strings.TrimSuffix(strings.TrimPrefix(from, "image: {"), "}\n")+", ", 1))
		want, got := again(t, file, "0"), again(t, packed, "0")
		if len(got.Index) != 2 || len(more) == 0 && got.Hash != want.Hash || want.Hash == "" {
			t.Errorf("got %+v, want %+v\n%s", got, want, printed)
		}
	}
}

// Two fields that are of one part are packed as two.
func TestPackedFieldsOfOnePart(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := pictures(t, 3)
	good(t, "pack", describe(t, dir, "pack-of", "order: {shuffle: false}\n"), "--out", filepath.Join(dir, "one.tar"))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	ending := strings.TrimPrefix(filepath.Ext(files[0]), ".")
	const fields = "fields:\n  a: {image: {from: %s, transform: [{resize: [8, 8]}]}}\n  b: {image: {from: %s, transform: [{resize: [4, 4]}]}}\norder: {shuffle: false}\nring: {hash: xxh3}\n"
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {shards: one.tar}\n"+fmt.Sprintf(fields, ending, ending))
	printed := good(t, "pack", file, "--out", filepath.Join(dir, "two.tar"))
	if want := fmt.Sprintf("fields.b.image: {\"from\":[\"b.%s\"]}\n", ending); !strings.HasSuffix(printed, want) {
		t.Fatalf("got %q, want it to end in %q", printed, want)
	}
	packed := writeFile(t, filepath.Join(dir, "packed.yaml"), "source: {shards: two.tar}\n"+fmt.Sprintf(fields, ending, "b."+ending))
	want, got := again(t, file, "0"), again(t, packed, "0")
	if got.Hash != want.Hash || want.Hash == "" || len(got.Index) != 3 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	host := writeFile(t, filepath.Join(dir, "host.yaml"), "source: {host: {samples: 5}}\nimage: {transform: [{resize: [8, 8]}]}\n")
	refused(t, exitUsage, "brought by a program, and there is none here", "pack", host, "--out", filepath.Join(dir, "h.tar"))
}

// What is printed names the archives that are there, also those whose numbers have more digits than was asked for, and below odd names.
func TestPackNamesItsShards(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	list := "v\n"
	for i := range 102 {
		list += fmt.Sprintf("%d\n", i)
	}
	writeFile(t, filepath.Join(dir, "x.csv"), list)
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {list: x.csv, columns: [{name: v, type: i64}]}\n")
	for _, name := range []string{"t-%02d.tar", "u-%d.tar", "t{a,b}-%d.tar", "[t]*-%02d.tar"} {
		printed := good(t, "pack", file, "--out", filepath.Join(dir, name), "--shard-samples", "1")
		if name == "t-%02d.tar" && !strings.Contains(printed, fmt.Sprintf(`"shards":["%s/t-{00..99}.tar","%s/t-{100..101}.tar"]`, dir, dir)) {
			t.Errorf("got %s", printed)
		}
		packed := writeFile(t, filepath.Join(dir, "packed.yaml"), printed)
		if report := good(t, "check", packed); !strings.Contains(report, "102 samples") {
			t.Errorf("%s: got %s", name, report)
		}
	}
}

// Archives in a store are named by their URLs.
func TestPackNamesObjects(t *testing.T) {
	v := packing{out: "s3://bucket/a/t-%02d.tar"}
	if got := v.shards(&pack.Report{Shards: []string{"s3://bucket/a/t-00.tar", "s3://bucket/a/t-01.tar"}}); got != "s3://bucket/a/t-{00..01}.tar" {
		t.Errorf("got %v", got)
	}
}

// Samples of columns alone are packed, too; lists of numbers become arrays.
func TestPackedColumnsAreTheTables(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "x.jsonl"), `{"ids": [1, 2, 3], "text": "a"}`+"\n"+`{"ids": [], "text": "b"}`+"\n"+`{"ids": [7], "text": "c"}`+"\n")
	const order = "order: {shuffle: false}\nbatch: 3\nring: {hash: xxh3}\n"
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {list: x.jsonl, columns: [{name: ids, type: list, dtype: i32, max_length: 8, padded: true}, text]}\n"+order)
	printed := good(t, "pack", file, "--out", filepath.Join(dir, "one.tar"), "--no-shuffle")
	packed := writeFile(t, filepath.Join(dir, "packed.yaml"), printed+order)
	want, got := again(t, file, "0"), again(t, packed, "0")
	if got.Hash != want.Hash || want.Hash == "" || len(got.Index) != 3 {
		t.Errorf("got %+v, want %+v\n%s", got, want, printed)
	}
	refused(t, exitUsage, "--resize is for samples of one picture", "pack", file, "--out", filepath.Join(dir, "%d.tar"), "--resize", "9")
}

// What an HDF5 file has is packed as what it is: pictures as their files, texts as such, lists and numbers as arrays.
func TestPackedDatasetsAreTheFiles(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	media, err := filepath.Abs("../../../core/grid/testdata/media.h5")
	if err != nil {
		t.Fatal(err)
	}
	const rest = "order: {shuffle: false}\nbatch: 3\nring: {hash: xxh3}\n"
	array := func(name, dataset, more string) string {
		return fmt.Sprintf("    - {name: %s, file: %q, dataset: %s, step: 1%s}\n", name, media, dataset, more)
	}
	arrays := array("top", "/vlen", ", window: 2") + array("wrist", "/observations/images/top", ", within: 2") + array("Text", "/texts/utf8", ", within: 2, max_bytes: 8KiB") +
		array("ids", "/lists/i64", ", within: 2, max_length: 8, padded: true") + array("state", "/observations/qpos", ", within: 2")
	fields := "fields:\n"
	for _, f := range []string{"a", "top[0]", "b", "top[1]", "c", "wrist"} {
		if len(f) == 1 {
			fields += "  " + f + ": "
		} else {
			fields += "{image: {from: '" + f + "', transform: [{resize: [6, 8]}]}}\n"
		}
	}
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source:\n  arrays:\n"+arrays+fields+rest)
	printed := good(t, "pack", file, "--out", filepath.Join(dir, "one.tar"), "--no-shuffle")
	for _, want := range []string{`"from":"text.txt","max_bytes":8192,"name":"Text","type":"text"`, `"from":"ids.npy","max_length":8,"name":"ids","padded":true,"shape":[-1],"type":"npy"`, `fields.a.image: {"from":["jpg"]}`, `fields.c.image: {"from":["c.jpg"]}`} {
		if !strings.Contains(printed, want) {
			t.Errorf("want %s in\n%s", want, printed)
		}
	}
	source, _, _ := strings.Cut(printed, "fields.")
	packed := fields
	for from, of := range map[string]string{"top[0]": "jpg", "top[1]": "b.jpg", "wrist": "c.jpg"} {
		packed = strings.Replace(packed, from, of, 1)
	}
	want, got := again(t, file, "0"), again(t, writeFile(t, filepath.Join(dir, "packed.yaml"), source+packed+rest), "0")
	if got.Hash != want.Hash || want.Hash == "" || len(got.Index) != 3 {
		t.Errorf("got %+v, want %+v\n%s", got, want, printed)
	}
}

// Shards that are packed again by the bare command keep the names of their classes, where their directories say the labels in cls; where these say
// others, as of some of the shards, labels stay what they are, and that they are numbers is said.
func TestShardsThatArePackedAgainKeepTheirClasses(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	out := t.TempDir()
	good(t, "pack", pictures(t, 10), "--out", filepath.Join(out, "old-%03d.tar"), "--shard-samples", "5", "--no-shuffle")
	again := func(shards, name string) (printed, told, report string) {
		r := spdl(t, "pack", filepath.Join(out, shards), "--out", filepath.Join(out, name+".tar"))
		if r.code != exitOK {
			t.Fatalf("%s%s", r.out, r.err)
		}
		packed := writeFile(t, filepath.Join(out, name+".yaml"), r.out+"image: {transform: [{resize: [8, 8]}]}\n")
		return r.out, r.err, good(t, "check", packed)
	}
	printed, told, report := again("old-*.tar", "all")
	if !strings.Contains(printed, `"labels":"directory"`) || told != "" || !strings.Contains(report, "2 classes (blue, red)") {
		t.Errorf("got %s%s%s", printed, told, report)
	}
	printed, told, report = again("old-001.tar", "red")
	if strings.Contains(printed, "labels") || !strings.Contains(told, `nothing names the classes: by the directories of these archives sample "red/000000005" would have the label 0, not 1`) ||
		strings.Contains(report, "classes (") {
		t.Errorf("got %s%s%s", printed, told, report)
	}
	labels := writeFile(t, filepath.Join(t.TempDir(), "l.tsv"), "")
	for i, path := range []string{"blue", "red"} {
		files, err := filepath.Glob(filepath.Join(pictures(t, 2), path, "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		text, _ := os.ReadFile(labels)
		writeFile(t, labels, fmt.Sprintf("%s%s\t%d\n", text, files[0], 7+i))
	}
	file := writeFile(t, filepath.Join(filepath.Dir(labels), "x.yaml"), "source: {list: l.tsv}\nimage: {transform: [{resize: [8, 8]}]}\n")
	good(t, "pack", file, "--out", filepath.Join(out, "numbers-%d.tar"))
	if printed, told, _ := again("numbers-*.tar", "numbered"); strings.Contains(printed, "labels") || told != "" {
		t.Errorf("got %s%s", printed, told)
	}
}

// A film, or an hour of sound, which a ring would leave in its file, is packed with all its bytes.
func TestLargeFilesArePackedWhole(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a.tar")
	const n = 33 << 20
	data := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, n-8)...)
	data = append(data, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data"...)
	data = binary.LittleEndian.AppendUint32(data, n-44)
	data = append(data, make([]byte, n-len(data))...)
	data[n-2] = 1
	writeFile(t, filepath.Join(dir, "a.wav"), string(data))
	if printed := good(t, "pack", dir, "--out", out); !strings.HasPrefix(printed, "# 1 sample in 1 shard, 33.0 MiB") {
		t.Errorf("got %s", printed)
	}
	if packed, err := os.ReadFile(out); err != nil || !bytes.Contains(packed, data) {
		t.Errorf("the archive of %d bytes, %v, has not the file's %d", len(packed), err, n)
	}
}

// Progress and facts are for programs, too.
func TestPackTellsProgramsWhatItWrote(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir, out := pictures(t, 5), t.TempDir()
	var told struct {
		Samples, Bytes, Shrunk int64
		Shards                 []string
		Source                 map[string]any
	}
	text := good(t, "pack", dir, "--out", filepath.Join(out, "%d.tar"), "--resize", "4", "--json")
	if err := json.Unmarshal([]byte(text), &told); err != nil || told.Samples != 5 || told.Shrunk != 5 || len(told.Shards) != 1 || told.Source["labels"] != "directory" {
		t.Errorf("%v\n%s", err, text)
	}
	if st, err := os.Stat(told.Shards[0]); err != nil || st.Size() != told.Bytes {
		t.Errorf("%v, %d bytes told", err, told.Bytes)
	}
}

// Of two runs of the same names that begin in the same moment one gets them, and the other writes nothing. The samples come from a server that lets
// none go before both have asked for one, or one has given up.
func TestTwoPacksDoNotMeet(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	picture, err := os.ReadFile(filepath.Join(pictures(t, 2), "red", "001.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	asked, goOn := make(chan string, 100), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		<-goOn
		_, _ = w.Write(picture)
	}))
	defer server.Close()
	out, dir, ended := t.TempDir(), t.TempDir(), make(chan result, 2)
	for _, who := range []string{"a", "b"} {
		list := writeFile(t, filepath.Join(dir, who+".txt"), server.URL+"/"+who+".jpg\n")
		file := writeFile(t, filepath.Join(dir, who+".yaml"), "source: {list: "+list+"}\nimage: {transform: [{resize: [8, 8]}]}\n")
		go func() { ended <- spdl(t, "pack", file, "--out", filepath.Join(out, "t-%d.tar")) }()
	}
	both, first := map[string]bool{}, make(chan result, 1)
	for len(both) < 2 && len(first) == 0 {
		select {
		case path := <-asked:
			both[path] = true
		case r := <-ended:
			first <- r
		}
	}
	close(goOn)
	if len(both) == 2 {
		first <- <-ended
	}
	loser, winner := <-first, <-ended
	if loser.code == exitOK {
		loser, winner = winner, loser
	}
	if winner.code != exitOK || loser.code != exitBusy || !strings.Contains(loser.err, "another run is writing archives of these names") {
		t.Errorf("exit codes %d and %d, want one that is refused\n%s%s", winner.code, loser.code, winner.err, loser.err)
	}
	if got := leak.Names(t, out); !slices.Equal(got, []string{"t-0.tar"}) {
		t.Errorf("left %q, want one archive alone", got)
	}
}

// Records are shards by what they begin with, and are packed into archives with endings of their own.
func TestRecordsAreCheckedAndPacked(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	picture, err := os.ReadFile(filepath.Join(pictures(t, 2), "red", "001.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var records []byte
	for label := range byte(3) {
		records = append(records, record(picture, label)...)
	}
	for _, name := range []string{"train-00000-of-00002", "train-00001-of-00002"} {
		writeFile(t, filepath.Join(dir, name), string(records))
	}
	wants(t, good(t, "check", filepath.Join(dir, "train-00000-of-00002"), filepath.Join(dir, "train-00001-of-00002"), "--size", "8", "--no-shuffle"),
		": 6 samples, no class names", " 0 0 0 0\n", " 5 5 2 2\n", " ok\n")
	tf := filepath.Join(t.TempDir(), "a.tfrecord-00000-of-00001")
	writeFile(t, tf, string(records))
	writeFile(t, filepath.Join(filepath.Dir(tf), "b.tfrecord"), string(records))
	wants(t, good(t, "check", filepath.Dir(tf), "--size", "8"), "*.tfrecord*: 6 samples")
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {shards: train-00000-of-00002, image: image/encoded, columns: [{name: n, from: image/class/label, type: i64}]}\n"+
		"image: {transform: [{resize: [8, 8]}]}\norder: {shuffle: false}\nbatch: 3\n")
	printed := good(t, "pack", file, "--out", filepath.Join(dir, "p.tar"))
	packed := writeFile(t, filepath.Join(dir, "p.yaml"), printed+"image: {transform: [{resize: [8, 8]}]}\norder: {shuffle: false}\nring: {hash: xxh3}\nbatch: 3\n")
	hashed := writeFile(t, filepath.Join(dir, "h.yaml"), "source: {shards: train-00000-of-00002, columns: [{name: n, from: image/class/label, type: i64}]}\n"+
		"image: {transform: [{resize: [8, 8]}]}\norder: {shuffle: false}\nring: {hash: xxh3}\nbatch: 3\n")
	if want, got := again(t, hashed, "0"), again(t, packed, "0"); got.Hash != want.Hash || want.Hash == "" {
		t.Errorf("hash %s, want %s\n%s", got.Hash, want.Hash, printed)
	}
}

// record is a TFRecord's of a tf.train.Example with a picture and its label.
func record(picture []byte, label byte) []byte {
	sized := func(number byte, parts ...[]byte) []byte {
		all := bytes.Join(parts, nil)
		return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(all))), all...)
	}
	feature := func(name string, value []byte) []byte { return sized(1, sized(1, []byte(name)), sized(2, value)) }
	data := sized(1, feature("image/encoded", sized(1, sized(1, picture))), feature("image/class/label", sized(3, sized(1, []byte{label}))))
	masked := func(b []byte) uint32 {
		sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (sum>>15 | sum<<17) + 0xa282ead8
	}
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	head = binary.LittleEndian.AppendUint32(head, masked(head))
	return binary.LittleEndian.AppendUint32(append(head, data...), masked(data))
}

func TestPackIsRefused(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir, out := pictures(t, 3), t.TempDir()
	taken := filepath.Join(out, "t-%d.tar")
	good(t, "pack", dir, "--out", taken)
	masks := `{"source": {"folder": "` + dir + `"}, "image": {"mode": "index", "transform": [{"resize": {"size": [8, 8], "interpolation": "nearest"}}]}}`
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"want --out, the archives' names":                 {exitUsage, []string{dir}},
		"the name is taken by":                            {exitBusy, []string{dir, "--out", taken}},
		"want one number such as %06d":                    {exitUsage, []string{dir, "--out", out + "/%s.tar"}},
		"make the directory first":                        {exitNotFound, []string{dir, "--out", out + "/none/%d.tar"}},
		`--shard-bytes "5Mi", want a size such as 256MiB`: {exitUsage, []string{dir, "--out", out + "/%d.tar", "--shard-bytes", "5Mi"}},
		"--shard-samples -1, want 0 or more":              {exitUsage, []string{dir, "--out", out + "/%d.tar", "--shard-samples", "-1"}},
		"--resize 20000, want 1 to 16384":                 {exitUsage, []string{dir, "--out", out + "/%d.tar", "--resize", "20000"}},
		"--quality 101, want 1 to 100":                    {exitUsage, []string{dir, "--out", out + "/%d.tar", "--resize", "9", "--quality", "101"}},
		"--quality goes with --resize":                    {exitUsage, []string{dir, "--out", out + "/%d.tar", "--quality", "9"}},
		"--resize is for samples of one picture":          {exitUsage, []string{"--spec-json", masks, "--out", out + "/%d.tar", "--resize", "9"}},
		"no such file or folder; want a description":      {exitNotFound, []string{out + "/nothing", "--out", out + "/%d.tar"}},
		"no flag --batch":                                 {exitUsage, []string{dir, "--out", out + "/%d.tar", "--batch", "9"}},
	} {
		refused(t, c.code, want, append([]string{"pack"}, c.args...)...)
	}
}
