package load

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A file is read to its end, however large it was said to be and whatever room there is.
func TestAFileIsReadToItsEnd(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 5, 100_000} {
		path, want := filepath.Join(dir, "file"), bytes.Repeat([]byte("abcdefg"), size)[:size]
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, said := range []int{0, size, 2 * size} {
			for _, room := range []int{0, 1, size, size + 1, 200_000} {
				if got, err := readFile(path, said, make([]byte, 0, room)); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, said to be %d, into room for %d: got %d, %v", size, said, room, len(got), err)
				}
			}
		}
	}
	if _, err := readFile(dir, 1, nil); err == nil {
		t.Error("a directory was read")
	}
}

// Files that are read into the same memory, one after the other and at once, are each the picture that they are.
func TestPicturesOfFilesDoNotMix(t *testing.T) {
	dir := t.TempDir()
	all := []Source{painted(t, 40, 30, 1), painted(t, 3, 300, 2), painted(t, 200, 200, 3), {Bytes: painted(t, 200, 200, 4).Bytes[:50]}}
	var group sync.WaitGroup
	for k, src := range all {
		path := filepath.Join(dir, string(rune('a'+k)))
		if err := os.WriteFile(path, src.Bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		want, whole := Load([]byte(`{"image": {}}`), src, nil)
		group.Add(1)
		go func() {
			defer group.Done()
			for range 50 {
				got, err := Load([]byte(`{"image": {}}`), Source{Path: path}, nil)
				if (err == nil) != (whole == nil) || err == nil && !bytes.Equal(got.Tensors[0].Data, want.Tensors[0].Data) {
					t.Errorf("file %d is another picture than its bytes: %v", k, err)
				}
			}
		}()
	}
	group.Wait()
}
