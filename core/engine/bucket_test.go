package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spdl/spdl/shm"
	"github.com/spdl/spdl/tests/bucket"
)

// bucketOf serves the files of a directory as s3://bucket/; what it returns is source.remote.
func bucketOf(t *testing.T, dir string) (remote string) {
	return fmt.Sprintf("{endpoint: %q, anonymous: true, addressing: path, hedge_after: never}", bucket.Serve(t, "bucket", dir).URL)
}

// Batches of a folder in an object store are those of the same tree on a disk, to the bit: pictures, masks, columns, defaults and bad samples,
// with and without caches, and of columns alone.
func TestBatchesOfABucketAreThoseOfTheDisk(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		base := filepath.Join(dir, "train", "abc"[i%3:i%3+1], fmt.Sprint(i))
		must(os.MkdirAll(filepath.Dir(base), 0o755))
		files := map[string][]byte{".jpg": picture(t, grey(i), 24), ".mask.jpg": picture(t, grey(i+5), 24), ".npy": npyOf(t, []int64{2}, i, i+1), ".txt": fmt.Appendf(nil, "text %d", i)}
		switch i {
		case 3:
			delete(files, ".txt")
		case 5:
			delete(files, ".mask.jpg")
		case 7:
			files[".npy"] = files[".npy"][:70]
		case 9:
			files[".jpg"] = nil
		}
		for ending, data := range files {
			must(os.WriteFile(base+ending, data, 0o600))
		}
	}
	remote := bucketOf(t, dir)
	const picturesAndMasks = `, columns: [{name: x, from: npy, type: npy}, {name: caption, from: txt, default: none}]}
fields: {photo: {image: {transform: [{resize: [8, 8]}, {horizontal_flip: 0.5}]}}, mask: {image: {from: mask.jpg, transform: [{resize: [8, 8]}, {horizontal_flip: 0.5}]}}}
`
	const alone = ", columns: [{name: caption, from: txt, default: none}, {name: x, from: npy, type: npy}]}\n"
	for _, of := range []string{picturesAndMasks, alone} {
		batches := func(source, cache string) (all []string) {
			r := start(t, parsed(t, fmt.Sprintf("name: %s\nsource: {folder: %s%sbatch: 4\norder: {epochs: 2, seed: 3}\nring: {hash: xxh3}\nbad_sample: {policy: mask}\n%s", testName(), source, of, cache)), nil)
			reader := r.attach(shm.AttachOptions{})
			for len(all) < 8 {
				l, err := reader.Acquire(testContext(t))
				if errors.Is(err, shm.EndEpoch) {
					all = append(all, "epoch")
					continue
				}
				must(err)
				all = append(all, fmt.Sprintf("%x of %d, %v bad", l.Hash, l.Rows, l.NBad))
				must(l.Release())
			}
			must(r.end())
			return all
		}
		want := batches(dir+"/train", "")
		if bad := strings.Count(strings.Join(want, "\n"), " 0 bad"); bad == 6 {
			t.Fatalf("no sample is bad: %q", want)
		}
		cache := fmt.Sprintf("cache: {dir: %q}\n", t.TempDir())
		for _, cache := range []string{"", cache, cache} {
			if got := batches(fmt.Sprintf("'s3://bucket/train', remote: %s", remote), cache); !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s\n got %q\nwant %q", of, cache, got, want)
			}
		}
	}
}
