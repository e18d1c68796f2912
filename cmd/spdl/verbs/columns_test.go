package verbs

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// arrays is a folder of n samples of an array and a text.
func arrays(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		var archive bytes.Buffer
		if err := array.WriteNPZ(&archive, []array.Named{{Name: "a", DType: tensor.U8, Shape: []int64{2, 3}, Data: bytes.Repeat([]byte{byte(i)}, 6)}}); err != nil {
			t.Fatal(err)
		}
		for m, err := range array.Zip(archive.Bytes()) {
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, fmt.Sprintf("%s/%03d.npy", dir, i), string(m.Data))
		}
		writeFile(t, fmt.Sprintf("%s/%03d.txt", dir, i), fmt.Sprint("text ", i))
	}
	return dir
}

// A data set of arrays and texts is refused with a description to begin with, which works as it stands.
func TestArraysWithoutADescriptionAreToldOne(t *testing.T) {
	home(t)
	dir := arrays(t, 4)
	source := fmt.Sprintf("{source: {folder: %q, columns: [{name: npy, type: npy}, txt]}}", dir)
	refused(t, exitUsage, fmt.Sprintf("check: %q holds arrays and no media, so a description has to name the fields; begin with %s, as a file", dir, source), "check", dir)
	wants(t, good(t, "check", "--spec-json", source), "npy u8 [32, 2, 3]", "txt u8 ragged", "4 samples", " ok\n")
	shards := shardsOf(t, dir) + "/*.tar"
	refused(t, exitUsage, fmt.Sprintf("begin with {source: {shards: [%q], columns: [{name: npy, type: npy}]}}", shards), "check", filepath.Dir(shards))
	table := writeFile(t, filepath.Join(t.TempDir(), "t.csv"), "x\n1\n")
	refused(t, exitUsage, fmt.Sprintf("or where its rows are all there is {source: {list: %q, columns: [NAME, {name: NUMBER, type: f64}]}}", table), "check", table)
}

// Every verb takes samples without media, or says what it does not do with them.
func TestVerbsTakeSamplesWithoutMedia(t *testing.T) {
	name, dir := home(t), arrays(t, 8)
	file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), fmt.Sprintf("source: {folder: %q, columns: [{name: npy, type: npy}, txt]}\nbatch: 4\n%s", dir, replaySpec))
	wants(t, good(t, "check", file, "--batches", "0"), "npy u8 [4, 2, 3]", " ok\n")
	if r := spdl(t, "view", file); r.code != exitFailed || !strings.Contains(r.err, "has samples without pictures, videos and sounds, and what they have (npy, txt) is not drawn; spdl check shows types and shapes") {
		t.Errorf("view: exit code %d, %s", r.code, r.err)
	}
	refused(t, exitUsage, "check: --dtype goes with pictures, videos and sounds, and these samples have none; leave it out", "check", file, "--dtype", "f32")
	refused(t, exitUsage, "--layout goes with pictures, videos and sounds", "check", file, "--layout", "NCHW")
	wants(t, good(t, "bench", file, "--seconds", "0.2"), "samples/s")
	s := serve(t, name, file)
	reader := s.attach(shm.AttachOptions{})
	l, err := reader.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if b := again(t, file, "0"); b.Hash != fmt.Sprintf("%016x", l.Hash) || l.Hash == 0 {
		t.Errorf("replayed %s, want %016x", b.Hash, l.Hash)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	wants(t, good(t, "inspect", name, "--check"), name)
	if code := s.stop(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}
