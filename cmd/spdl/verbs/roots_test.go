package verbs

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/bucket"
)

// aBucket serves a directory as s3://b and gs://b to the commands of the test.
func aBucket(t *testing.T, dir string) *bucket.Bucket {
	t.Helper()
	b := bucket.Serve(t, "b", dir)
	t.Setenv("AWS_ENDPOINT_URL", b.URL)
	t.Setenv("STORAGE_EMULATOR_HOST", b.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	return b
}

// tarOf makes an archive of a folder's pictures.
func tarOf(t *testing.T, dir, to string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, b.String())
}

// A prefix of a store is taken for what a directory is taken for: shards, a folder of media, or several data sets, none of which is chosen.
func TestRootsOfAStoreAreTakenAsDirectoriesAre(t *testing.T) {
	home(t)
	dir, media := t.TempDir(), pictures(t, 4)
	for _, one := range []string{"one/data/train-0.tar", "one/data/train-1.tar", "two/train-0.tar", "two/train-1.tar", "two/sub/test-0.tar", "both/x.tar"} {
		tarOf(t, media, filepath.Join(dir, one))
	}
	for _, beside := range []string{"one/README.md", "one/_SUCCESS", "one/.gitattributes", "one/dataset_infos.json", "one/_temporary/0/train-2.tar", "one/.old/train-3.tar"} {
		writeFile(t, filepath.Join(dir, beside), "{}")
	}
	for _, root := range []string{"media", "both"} {
		if err := os.CopyFS(filepath.Join(dir, root), os.DirFS(media)); err != nil {
			t.Fatal(err)
		}
	}
	for _, split := range []string{"listed/train", "listed/val"} {
		if err := os.CopyFS(filepath.Join(dir, split), os.DirFS("../../../core/source/testdata/mds/zstd")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "saved"), os.DirFS("../../../core/source/testdata/arrow/splits")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "saved/train/cache-1f.arrow"), "of map, and none of the data set's")
	writeFile(t, filepath.Join(dir, "none/README.md"), "nothing")
	writeFile(t, filepath.Join(dir, "arrays/1.npy"), "\x93NUMPY")
	b := aBucket(t, dir)
	for _, root := range []string{dir, "s3://b", "S3://b", "gs://b"} {
		of := strings.Replace(root, "S3:", "s3:", 1)
		wants(t, good(t, "check", root+"/one"), "source shards "+of+"/one/data/*.tar: 8 samples")
		wants(t, good(t, "check", root+"/media/"), "source folder "+of+"/media", "4 samples, 2 classes (blue, red)")
		refused(t, exitUsage, fmt.Sprintf("check: %q holds shards of 2 data sets, and nothing says which are meant; name one: spdl check '%s/two/*.tar' (2 files), "+
			"spdl check '%s/two/sub/test-0.tar' (1 file)", of+"/two", of, of), "check", root+"/two")
		refused(t, exitUsage, `holds arrays and no media, so a description has to name the fields; begin with {source: {folder: "`+of+`/arrays", columns: [{name: npy, type: npy}]}}`,
			"check", root+"/arrays")
		refused(t, exitNotFound, "no samples", "check", root+"/none")
		refused(t, exitUsage, fmt.Sprintf("spdl check '%s/listed/train/index.json' (1 file), spdl check '%s/listed/val/index.json' (1 file)", of, of), "check", root+"/listed")
		wants(t, good(t, "check", root+"/listed/train"), "source shards "+of+"/listed/train", ": 5 samples") // of MDS, compressed
		refused(t, exitUsage, fmt.Sprintf("spdl check '%s/saved/test/state.json' (1 file), spdl check '%s/saved/train/state.json' (1 file)", of, of), "check", root+"/saved")
		wants(t, good(t, "check", root+"/saved/train"), "source shards "+of+"/saved/train", ": 5 samples, 3 classes (cat, dog, owl)")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir+"/one", link); err != nil {
		t.Fatal(err)
	}
	wants(t, good(t, "check", link), "source shards "+link+"/data/*.tar: 8 samples")
	wants(t, good(t, "check", dir+"/both"), "source folder "+dir+"/both") // media that lie on a disk are a folder, as an archive of them may lie beside
	refused(t, exitUsage, `check: "s3://b/both" holds media and shards, want one of them; name the shards: spdl check 's3://b/both/x.tar' (1 file); or the media: {source: {folder: "s3://b/both"}`,
		"check", "s3://b/both")
	refused(t, exitFailed, `check: "s3://other/x/": missing`, "check", "s3://other/x")

	lines := writeFile(t, filepath.Join(t.TempDir(), "list.txt"), "gs://b/media/blue/000.jpg\t1\n")
	below := writeFile(t, filepath.Join(t.TempDir(), "list.txt"), "blue/000.jpg\t1\nred/002.jpg\t0\n")
	wants(t, good(t, "check", "--spec-json", fmt.Sprintf(`{"source": {"list": %q}, "image": {"transform": [{"resize": [8, 8]}]}}`, lines)), ": 1 sample,")
	wants(t, good(t, "check", "--spec-json", fmt.Sprintf(`{"source": {"list": %q, "root": "gs://b/media"}, "image": {"transform": [{"resize": [8, 8]}]}}`, below)), ": 2 samples,")

	b.Listings.Store(0)
	good(t, "check", "s3://b/media")
	if n := b.Listings.Load(); n != 2 {
		t.Errorf("a folder was listed %d times, want once to tell what it is and once for its samples", n)
	}
}

// What a URL is by its name is refused as the file would be, and nothing is asked of its store.
func TestURLsThatAreNoRootsAreRefusedByName(t *testing.T) {
	home(t)
	b := aBucket(t, t.TempDir())
	for url, want := range map[string]string{
		"s3://b/train.csv":                   `"s3://b/train.csv" is no description, but a list by its name; put it into one: {source: {list: "s3://b/train.csv"}`,
		"https://u:secret@h/train.txt?sig=x": `check: "https://h/train.txt" is no description, but a list by its name`,
		"hf://datasets/u/n/x.jsonl":          "or where its rows are all there is {source: {list:",
		"s3://b/x.npy":                       "but an array by its name",
		"s3://b/tokens.bin":                  "an array without a head by its name",
		"s3://b/x.tar.gz":                    "is compressed by its name",
		"s3://b/x.yaml":                      "descriptions are read from files; copy it here",
		"http://h/train":                     "nothing can be listed over http; name the shards, by their endings (.tar, .zip, .parquet, .arrow, .rec, .tfrecord, .array_record)",
		"https://u:secret@h/p?sig=x":         `"https://h/p": nothing can be listed over http`,
		"s3:///x":                            "names no bucket, want s3://BUCKET",
		"gs://":                              "names no bucket, want gs://BUCKET or gs://BUCKET/PREFIX",
		"hf://":                              "want hf://NAME/PATH",
	} {
		refused(t, exitUsage, want, "check", url)
	}
	if n := b.Listings.Load(); n != 0 {
		t.Errorf("the store was asked %d times, want never", n)
	}
}

// What is wrong with the shards that a data set's index lists is no fault of the description, which names its directory as it has to be named.
func TestDamagedShardsOfAListedDataSetFailAtRunTime(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../core/source/testdata/mds/all")); err != nil {
		t.Fatal(err)
	}
	shard := filepath.Join(dir, "shard.00000.mds")
	if err := os.Truncate(shard, 100); err != nil {
		t.Fatal(err)
	}
	refused(t, exitFailed, "write or copy it again", "check", dir)
	described := fmt.Sprintf(`{"source": {"shards": %q, "columns": ["text"]}}`, dir)
	refused(t, exitFailed, "write or copy it again", "check", "--spec-json", described)
	if err := os.Remove(shard); err != nil {
		t.Fatal(err)
	}
	refused(t, exitNotFound, "no such file or directory", "check", "--spec-json", described)
	refused(t, exitUsage, "got a directory, want a regular file", "check", "--spec-json", fmt.Sprintf(`{"source": {"list": %q}, "image": {"transform": [{"resize": [8, 8]}]}}`, dir))
	refused(t, exitUsage, "got a directory, want a regular file", "check", "--spec-json", fmt.Sprintf(`{"source": {"shards": %q, "columns": ["text"]}}`, filepath.Dir(dir)))
}
