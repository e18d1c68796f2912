package verbs

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// wants fails the test for every text that out lacks; runs of blanks count as one.
func wants(t *testing.T, out string, texts ...string) {
	t.Helper()
	flat := regexp.MustCompile(` +`).ReplaceAllString(out, " ")
	for _, text := range texts {
		if !strings.Contains(flat, text) {
			t.Errorf("%q is not in\n%s", text, out)
		}
	}
}

// Check shows the schema, sizes, order and first rows of what serve would publish.
func TestCheckShowsWhatConsumersWillSee(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := describe(t, dir, name, "order: {shuffle: false, epochs: 3}\nring: {groups: [{name: train}]}\n")
	out := good(t, "check", file)
	wants(t, out, name+": the description is valid", "folder "+dir+": 10 samples, 2 classes (blue, red)",
		"in the order of the files, 3 epochs; 3 steps an epoch, last: cover", "4 rows a rank", "group train: shared, 1 expected, slow: block",
		"image u8 [4, 16, 16, 3] 3,072", "index i64 [4] 32", "key u8 ragged, at most 512 in all", "label i64 [4] 32",
		"8 slots x 4.0 KiB = 32.0 KiB; /dev/shm has", "batch 0 4 rows after",
		"0 0 0 blue blue/000.jpg", "3 3 0 blue blue/003.jpg", " ok\n")
}

// The batch that is shown is the first, though delivery: ready would give the next one first, which is ready long before.
func TestCheckShowsTheFirstBatch(t *testing.T) {
	name := home(t)
	out := good(t, "check", describe(t, slowOne(t, 0), name, "order: {shuffle: false}\nring: {delivery: ready}\nlimits: {cpus: 2}\n"))
	wants(t, out, "batch 0 4 rows after", "0 0 none 00.png", "3 3 none 03.png")
}

// Of a source of which a part is taken check says so.
func TestCheckSaysThatASourceIsAPart(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := writeFile(t, filepath.Join(t.TempDir(), "p.yaml"), fmt.Sprintf(
		"name: %s\nsource: {folder: %s, only: '2:6'}\nbatch: 4\nimage: {transform: [{resize: [16, 16]}]}\n", name, dir))
	wants(t, good(t, "check", file), "folder "+dir+": 4 samples, 2 classes", "note source.only takes 4 of the source's 10 samples", " ok\n")
}

// Of rows that a batch has as large as its largest the capacity is a bound, and is called one.
func TestCheckSaysWhichShapesAreBounds(t *testing.T) {
	name, dir := home(t), pictures(t, 5)
	file := writeFile(t, filepath.Join(t.TempDir(), "p.yaml"), fmt.Sprintf(
		"name: %s\nsource: {folder: %s}\nbatch: 4\nimage: {shape: padded, transform: [{resize: {size: 16, max_size: 24}}]}\n", name, dir))
	wants(t, good(t, "check", file), "image u8 padded, at most [4, 24, 24, 3] 6,912", "extent i64 [4, 2] 64")
}

// Names that would move a terminal's cursor, or are no text, are shown as escapes, one row a line.
func TestCheckShowsOddNamesAsEscapes(t *testing.T) {
	name, dir := home(t), pictures(t, 1)
	data, err := os.ReadFile(filepath.Join(dir, "red", "000.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "c\xff"), 0o755); err != nil {
		t.Skipf("this file system takes UTF-8 alone: %v", err)
	}
	for _, odd := range []string{"new\nline", "esc\x1b[2Jape", "no\xfftext", "tab\tbed", "größe a"} {
		writeFile(t, filepath.Join(dir, "c\xff", odd+".jpg"), string(data))
	}
	out := good(t, "check", describe(t, dir, name, "order: {shuffle: false}\n"), "--batch", "6")
	wants(t, out, `2 classes (c\xff, red)`, "0 c\ufffd c"+`\xff/new\nline.jpg`, `c\xff/esc\x1b[2Jape.jpg`, `c\xff/no\xfftext.jpg`, `c\xff/tab\tbed.jpg`, `c\xff/größe a.jpg`, "1 red red/000.jpg")
	if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 || !utf8.ValidString(out) {
		t.Errorf("shows %q", out[max(i, 0):])
	}
}

// A URL is shown without its password and its signature, by whatever verb says where samples come from.
func TestURLsAreShownWithoutSecrets(t *testing.T) {
	home(t)
	server := httptest.NewServer(http.FileServer(http.Dir(shardsOf(t, filepath.Join(pictures(t, 8), "red")))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	spec := `{source: {shards: "http://user:hidden@` + host + `/{0..1}.tar?sig=hidden"}, batch: 4, order: {epochs: 1}, image: {from: jpg, transform: [{resize: [8, 8]}]}}`
	wants(t, good(t, "check", "--spec-json", spec), "source shards http://"+host+"/{0..1}.tar?...: 4 samples")
	for _, args := range [][]string{{"check"}, {"bench", "--seconds", "1"}, {"profile"}, {"view", "--out", filepath.Join(t.TempDir(), "sheet.png")}, {"verify"}, {"replay", "--step", "0"}} {
		for _, one := range []string{spec, strings.ReplaceAll(spec, "{0..1}", "none")} {
			if r := spdl(t, append(args, "--spec-json", one)...); strings.Contains(r.out+r.err, "hidden") {
				t.Errorf("%s shows the secret:\n%s\n%s", args, r.out, r.err)
			}
		}
	}
}

// Bad samples are named, each once, and do not fail the check where the policy allows them.
func TestCheckNamesBadSamples(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	writeFile(t, filepath.Join(dir, "blue", "text.jpg"), "this is not a picture")
	writeFile(t, filepath.Join(dir, "red", "nothing.jpg"), "")
	out := good(t, "check", describe(t, dir, name, "bad_sample: {policy: mask}\n"), "--batches", "0")
	wants(t, out, "2 bad samples so far (1 empty, 1 not_an_image), policy mask:", `"blue/text.jpg"`, `"red/nothing.jpg"`)
	for i := range 20 {
		writeFile(t, filepath.Join(dir, "red", "nothing"+strconv.Itoa(i)+".jpg"), "")
	}
	wants(t, good(t, "check", describe(t, dir, name, ""), "--batches", "0"), "22 bad samples so far (21 empty, 1 not_an_image), policy skip; the last 16:")
	if strings.Contains(out, " ok\n") {
		t.Errorf("ok in spite of bad samples:\n%s", out)
	}
	r := spdl(t, "check", describe(t, dir, name, "bad_sample: {policy: fail}\n"), "--batches", "0")
	if r.code != exitFailed || !strings.Contains(r.err, "the engine failed: ") {
		t.Errorf("policy fail: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestCheckAdvises(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	flat := filepath.Join(dir, "blue")
	out := good(t, "check", flat, "--name", name, "--size", "8", "--batch", "5")
	wants(t, out, "no directories, so no labels: put the files of each class into a directory of its own, or say labels: none",
		"a step takes 5 rows and there are 2 samples: every batch is short or padded; use a smaller batch", "1 1 none 001.jpg")
	wants(t, good(t, "check", describe(t, dir, name, ""), "--batches", "3000"), "--batches asked for 3,000, and an epoch has 1 batch: all of it was decoded")
	for _, batches := range []string{"0", "1"} {
		if out := good(t, "check", describe(t, dir, name, ""), "--batches", batches); strings.Contains(out, "--batches") {
			t.Errorf("--batches %s:\n%s", batches, out)
		}
	}
	wants(t, good(t, "check", describe(t, dir, name, "device: {cuda: 3}\n")), "the upload to device 3 is not tried here: spdl serve begins it", " ok\n")
	wants(t, good(t, "check", describe(t, dir, name, "device: {decode: nvjpeg, jpeg_bytes: 1048576}\n")),
		"serve has device 0 decode JPEG files, so its slots have room for 1.0 MiB of a file in a row's place", " ok\n")
}

// Directories that are parts of a data set, and not its classes, are noted.
func TestCheckNotesPartsThatPassForClasses(t *testing.T) {
	home(t)
	dir := t.TempDir()
	for _, part := range []string{"train2017", "val"} {
		if err := os.Rename(pictures(t, 2), filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
	}
	const note = "the classes are called as parts of a data set are; if that is what they are name one of them, such as "
	wants(t, good(t, "check", dir, "--size", "8"), note+dir+"/train2017, so that the classes are the directories in it")
	if out := good(t, "check", filepath.Join(dir, "val"), "--size", "8"); strings.Contains(out, note) {
		t.Error(out)
	}
}

// Check tells how many episodes are too short to have a sample.
func TestCheckNotesShortEpisodes(t *testing.T) {
	home(t)
	tokens := writeFile(t, filepath.Join(t.TempDir(), "x.bin"), strings.Repeat("x", 20))
	text := fmt.Sprintf(`{"source": {"arrays": [{"name": "x", "file": %q, "dtype": "u8", "window": 6, "step": 1, "pad_before": 1}], "episodes": {"ends": [3, 10, 14, 20]}}, "batch": 5}`, tokens)
	wants(t, good(t, "check", "--spec-json", text), ": 5 samples", "note array \"x\": 2 of 4 episodes have fewer than 5 rows, and no sample")
}

// A mask that is not flipped with its picture is noted.
func TestCheckNotesMasksThatDoNotFollow(t *testing.T) {
	name, dir := home(t), t.TempDir()
	var grey bytes.Buffer
	if err := png.Encode(&grey, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "a.png"), grey.String())
	list := writeFile(t, filepath.Join(dir, "t.csv"), "path,mask\na.png,a.png\n")
	const fields = "source: {list: %s}\nbatch: 1\nfields:\n  photo: {image: {transform: [{center_crop: 8}, {horizontal_flip: 0.5}]}}\n  mask: {image: {from: mask, mode: index, transform: [{center_crop: 8}%s]}}\n"
	file := filepath.Join(t.TempDir(), name+".yaml")
	const note = "fields.photo.image and fields.mask.image differ in horizontal_flip, so a mask does not lie on its picture"
	wants(t, good(t, "check", writeFile(t, file, fmt.Sprintf(fields, list, ""))), note, " ok\n")
	if out := good(t, "check", writeFile(t, file, fmt.Sprintf(fields, list, ", {horizontal_flip: 0.5}"))); strings.Contains(out, "differ") {
		t.Error(out)
	}
}

// A label without a name is shown once.
func TestCheckShowsLabelsThatHaveNoNames(t *testing.T) {
	name, dir := home(t), pictures(t, 2)
	list := writeFile(t, filepath.Join(dir, "train.txt"), "blue/000.jpg\t7\nred/001.jpg\n")
	file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {list: "+list+"}\nbatch: 2\norder: {shuffle: false}\nimage: {transform: [{resize: [8, 8]}]}\n")
	wants(t, good(t, "check", file), "0 0 7 blue/000.jpg", "1 1 none red/001.jpg")
}

// Of archives whose labels are numbers check says where their names are, and nothing where the directories number them otherwise.
func TestCheckSaysWhereClassesHaveTheirNames(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	out := t.TempDir()
	good(t, "pack", pictures(t, 10), "--out", filepath.Join(out, "%d.tar"), "--shard-samples", "5", "--no-shuffle")
	const note = "note labels are the numbers in the parts cls; their names are those of the directories: with labels: directory below source it is 2 classes (blue, red)"
	wants(t, good(t, "check", filepath.Join(out, "*.tar"), "--size", "8"), "no class names", note, " ok\n")
	for _, args := range [][]string{{filepath.Join(out, "1.tar"), "--size", "8"},
		{"--spec-json", `{source: {shards: "` + out + `/*.tar", labels: directory}, image: {transform: [{resize: [8, 8]}]}}`},
		{"--spec-json", `{source: {shards: "` + out + `/*.tar", labels: none}, image: {transform: [{resize: [8, 8]}]}}`}} {
		if report := good(t, append([]string{"check"}, args...)...); strings.Contains(report, "their names are") {
			t.Errorf("%q:\n%s", args, report)
		}
	}
}

func TestCheckLooksAtEveryRing(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	file := describe(t, dir, name, "rings: {train: {}, val: {batch: 2}}\n")
	out := good(t, "check", file)
	wants(t, out, name+"/train: the description is valid", name+"/val: the description is valid", "image u8 [4, 16, 16, 3]", "image u8 [2, 16, 16, 3]")
	if out := good(t, "check", file, "--ring", "val"); strings.Contains(out, "/train") {
		t.Errorf("--ring val shows train:\n%s", out)
	}
}

// A label below zero is one, but for -1.
func TestCheckShowsEveryLabel(t *testing.T) {
	home(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "x.csv"), "v,label\n7,-2\n8,-1\n9,3\n")
	file := writeFile(t, filepath.Join(dir, "x.yaml"), "source: {list: x.csv, columns: [v]}\norder: {shuffle: false}\nbatch: 3\n")
	wants(t, good(t, "check", file), " 0 0 -2 x.csv:0\n", " 1 1 none x.csv:1\n", " 2 2 3 x.csv:2\n")
}

// Of buckets check says what batches they make, and how much padding these have, with a bound and without.
func TestCheckShowsTheBatchesOfBuckets(t *testing.T) {
	home(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "x.csv"), "seconds\n2\n2\n2\n2\n8\n8\n8\n8\n")
	file := func(buckets string) string {
		return writeFile(t, filepath.Join(dir, "x.yaml"), "source: {list: x.csv, columns: [{name: seconds, type: f64}]}\nbatch: 4\norder: {buckets: {by: seconds, count: 2"+buckets+"}}\n")
	}
	const shuffled = "shuffled without buckets, 4 rows a batch: 37.5 %, up to 32\n"
	wants(t, good(t, "check", file(", max_total: 16.5")), "batch at most 4 rows a rank", "buckets 2 by seconds, at most 16.50 of rows x longest in a batch\n",
		" samples from to rows a batch\n", " 4 2 2 4\n", " 4 8 8 2\n", "padding 0.0 % of rows x longest, up to 16 in a batch; "+shuffled, "3 steps an epoch")
	out := good(t, "check", file(""))
	wants(t, out, "batch 4 rows a rank", "padding 0.0 % of rows x longest, up to 32 in a batch; "+shuffled, "2 steps an epoch")
	if strings.Contains(out, "buckets 2") {
		t.Errorf("buckets without a bound are listed:\n%s", out)
	}
	wants(t, good(t, "check", file(", max_total: 16"), "--world-size", "2", "--batch", "6"), " 4 8 8 2\n", "padding 0.0 % of rows x longest, up to 16 in a batch")
	refused(t, exitUsage, `order: buckets.max_total: column "seconds": sample 4 "x.csv:4": got a length of 8, the longest of 4 that are too long, want at most max_total, 7; raise max_total to 8`,
		"check", file(", max_total: 7"))
	refused(t, exitUsage, "order.buckets.multiple_of: got 3, want a number that divides batch, 4, the most rows", "check", file(", max_total: 7, multiple_of: 3"))
}

// Of groups check says how many there are, how large, and what becomes of what they have left over.
func TestCheckShowsGroups(t *testing.T) {
	home(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "x.csv"), "kind,n\na,1\na,1\nb,1\nb,1\nb,1\n")
	file := func(order string) string {
		return writeFile(t, filepath.Join(dir, "x.yaml"), "source: {list: x.csv, columns: [kind, {name: n, type: i64}]}\nbatch: 2\norder: {"+order+"}\n")
	}
	wants(t, good(t, "check", file("group: kind")), "grouped by kind, 2 groups of 2 to 3 samples; left over: 1 step, short\n", "3 steps an epoch")
	wants(t, good(t, "check", file("group: kind, last: drop")), "2 groups of 2 to 3 samples; left over: 1 step, dropped\n", "2 steps an epoch")
	wants(t, good(t, "check", file("group: n, last: pad")), "grouped by n, 1 group of 5 samples; left over: 1 step, filled up\n", "3 steps an epoch")
	wants(t, good(t, "check", file("group: kind"), "--batch", "1"), "2 groups of 2 to 3 samples\n")
}

func TestCheckRefusesWhatCannotBeServed(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	refused(t, exitNotFound, `check: "/no/such": no such file or folder`, "check", "/no/such")
	refused(t, exitUsage, "check: nothing to read", "check")
	list := writeFile(t, filepath.Join(t.TempDir(), "train.csv"), "path,label\na.jpg,1\n")
	refused(t, exitUsage, "check: "+strconv.Quote(list)+" is no description, but a list by its name; put it into one: {source: {list: ", "check", list)
	arrays := writeFile(t, filepath.Join(t.TempDir(), "x.npy"), "\x93NUMPY")
	refused(t, exitUsage, fmt.Sprintf("check: %q is no description, but an array by its name; put it into one: {source: {arrays: [{name: x, file: %q}]}}", arrays, arrays), "check", arrays)
	for ending, is := range map[string]string{"JPG": "a picture", "mp4": "a video", "flac": "a sound"} {
		media := writeFile(t, filepath.Join(dir, "one."+ending), "\xff\xd8")
		refused(t, exitUsage, fmt.Sprintf("check: %q is no description, but %s by its name; name the folder that it is in, %q, or of some files a list of them", media, is, dir), "check", media)
		if err := os.Remove(media); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, exitUsage, `check: got 2 files of media by their names, such as "a.jpg"; want their folder, or a list of them in a description: {source: {list: FILE}`, "check", "a.jpg", "b.wav")
	refused(t, exitUsage, "check: got 2 arguments, want one: a description (YAML or JSON), a folder of media or shards", "check", "a.jpg", "b")
	packed := writeFile(t, filepath.Join(t.TempDir(), "train.tar.GZ"), "\x1f\x8b")
	refused(t, exitUsage, "check: "+strconv.Quote(packed)+" is compressed by its name, and samples of such an archive cannot be found; unpack it to a .tar",
		"check", packed, "--size", "8")
	kinds := filepath.Dir(writeFile(t, filepath.Join(t.TempDir(), "b.zip"), ""))
	writeFile(t, filepath.Join(kinds, "a.tar"), "")
	refused(t, exitUsage, fmt.Sprintf("check: %q holds shards of 2 data sets, and nothing says which are meant; name one: spdl check '%s/a.tar' (1 file), spdl check '%s/b.zip' (1 file)", kinds, kinds, kinds), "check", kinds)
	refused(t, exitUsage, " is no description, but a list by its name", "check", list, "--size", "8")
	foreign := writeFile(t, filepath.Join(t.TempDir(), "a.beton"), "\x00")
	refused(t, exitUsage, "check: "+strconv.Quote(foreign)+": FFCV's format is not read here; name the files that it was made of", "check", foreign, foreign)
	elements := writeFile(t, filepath.Join(t.TempDir(), "tokens.bin"), "\x00")
	refused(t, exitUsage, fmt.Sprintf("an array without a head by its name; put it into one, with the type of its elements: {source: {arrays: [{name: x, file: %q, dtype: u16, window: 1024}]}}", elements), "check", elements)
	hdf5, err := os.ReadFile("../../../core/grid/testdata/latest.h5")
	if err != nil {
		t.Fatal(err)
	}
	h5 := writeFile(t, filepath.Join(t.TempDir(), "a.h5"), string(hdf5))
	refused(t, exitUsage, fmt.Sprintf("check: %q is no description, but an HDF5 file by its name; put its arrays into one: {source: {arrays: [{name: x, file: %q, dataset: \"/data/demo_0/actions\"}]}}, as a file or, in JSON, as --spec-json; "+
		"there are /data/demo_0/actions (2 of f32), /data/demo_1/actions (2 of f32), ", h5, h5), "check", h5)
	const bytesH5, textsH5 = "../../../core/grid/testdata/media.h5", "../../../core/grid/testdata/small_texts.h5"
	refused(t, exitUsage, fmt.Sprintf("{source: {arrays: [{name: x, file: %q, dataset: \"/lists/many\"}]}, image: {from: x, transform: [{resize: [224, 224]}]}}, or audio or video in place of image, as a file or, in JSON, as --spec-json; "+
		"there are /action (2 of f32), /fixed (texts), /gap (", bytesH5), "check", bytesH5)
	refused(t, exitUsage, "/label (i64), /lists/f32 (lists of f32), ", "check", bytesH5)
	refused(t, exitUsage, "/lists/i64 (lists of i64), /lists/many (lists of bytes) and more", "check", bytesH5)
	refused(t, exitUsage, fmt.Sprintf("{source: {arrays: [{name: x, file: %q, dataset: \"/c/e\"}]}, image: {from: x, transform: [{resize: [224, 224]}]}}, or audio or video in place of image, as a file or, in JSON, as --spec-json; there are /a (texts), /b (lists of i16), /c/d (texts), /c/e (opaque bytes)", textsH5), "check", textsH5)
	refused(t, exitUsage, "an HDF5 file by its name, and no array was found in it", "check", writeFile(t, filepath.Join(t.TempDir(), "x.HDF5"), "\x89HDF"))
	zarr := filepath.Dir(writeFile(t, filepath.Join(t.TempDir(), ".zgroup"), `{"zarr_format": 2}`))
	writeFile(t, filepath.Join(zarr, "data", ".zarray"), "{}")
	refused(t, exitUsage, fmt.Sprintf("check: %q is no description, but a directory of Zarr; put its arrays into one: {source: {arrays: [{name: x, file: %q}]}}", zarr, filepath.Join(zarr, "data")), "check", zarr)
	stored, err := os.ReadFile("../../../core/grid/testdata/store.zarr.zip")
	if err != nil {
		t.Fatal(err)
	}
	archive := writeFile(t, filepath.Join(t.TempDir(), "store.zarr.zip"), string(stored))
	refused(t, exitUsage, fmt.Sprintf("check: %q is no description, but an archive of Zarr; put its arrays into one: {source: {arrays: [{name: x, file: \"%s/data/action\"}]}}", archive, archive), "check", archive)
	annotations := writeFile(t, filepath.Join(t.TempDir(), "instances.json"), `{"info": {}, "images": [], "annotations": []}`)
	refused(t, exitUsage, "has COCO's annotations by its keys; make a table of it, a row a picture, and name that in source.list (docs/recipes.md, Detection)", "check", annotations)
	refused(t, exitUsage, "images: unknown key", "check", writeFile(t, filepath.Join(t.TempDir(), "x.yaml"), "images: {}\n"))
	picture := filepath.Join(dir, "blue", "000.jpg")
	media := ", batch: 2, image: {transform: [{resize: [8, 8]}]}}"
	refused(t, exitUsage, `pattern "/nope/{0..}.tar": got {0..}, want two whole numbers`, "check", "/nope/{0..}.tar")
	refused(t, exitUsage, `pattern "/nope/{0..}.tar": got {0..}, want two whole numbers`, "check", "--spec-json", `{source: {shards: "/nope/{0..}.tar"}`+media)
	refused(t, exitNotFound, `shard "/nope/0.tar": no such file`, "check", "/nope/{0..1}.tar")
	refused(t, exitUsage, `source: folder "`+picture+`": is not a directory`, "check", "--spec-json", `{source: {folder: "`+picture+`"}`+media)
	refused(t, exitUsage, `source: list "`+dir+`": got a directory, want a regular file`, "check", "--spec-json", `{source: {list: "`+dir+`"}`+media)
	refused(t, exitUsage, "check: --batches -1", "check", dir, "--batches", "-1")
	refused(t, exitUsage, ".yaml:4:20: image.trans: unknown key", "check",
		writeFile(t, filepath.Join(t.TempDir(), "x.yaml"), "name: x\nsource: {folder: .}\nbatch: 4\nimage: {mode: rgb, trans: []}\n"))
	refused(t, exitNoRoom, "lower ring.slots or batch", "check", dir, "--name", name, "--size", "4096", "--batch", "64", "--slots", "1000")
	refused(t, exitUsage, `order: filter: "label > 9" is true for none of 4 samples`, "check", describe(t, dir, name, "order: {filter: label > 9}\n"))
	refused(t, exitUsage, "cache.rows_bytes: 4 rows of", "check", describe(t, dir, name, "cache: {rows_bytes: 1KiB}\n"))
	refused(t, exitUsage, "batch: got -3, want a whole number from 1 to 65536", "check", dir, "--batch", "-3")
}
