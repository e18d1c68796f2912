package av

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// A file's sample is read from its own beginning to its own end, and no further; of a file that has become shorter there is what is left.
func TestFileIsReadWithinItsBounds(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("before, the sample, and behind"); err != nil {
		t.Fatal(err)
	}
	one, same := File{FD: int(f.Fd()), Offset: 8, Size: 10}, File{From: f, FD: -1, Offset: 8, Size: 10}
	for _, test := range []struct {
		at   int64
		n    int
		want string
		err  error
	}{
		{0, 10, "the sample", nil}, {4, 3, "sam", nil}, {4, 20, "sample", io.EOF}, {10, 1, "", io.EOF}, {11, 1, "", io.EOF}, {0, 0, "", nil},
	} {
		for _, file := range []*File{&one, &same} {
			to := make([]byte, test.n)
			if n, err := file.ReadAt(to, test.at); err != test.err || string(to[:n]) != test.want {
				t.Errorf("%d bytes at %d: got %q, %v, want %q, %v", test.n, test.at, to[:n], err, test.want, test.err)
			}
		}
	}
	if err := f.Truncate(12); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(io.NewSectionReader(&one, 0, one.Size)); err != nil || !bytes.Equal(all, []byte("the ")) {
		t.Errorf("cut: got %q, %v", all, err)
	}
	if _, err := (&File{FD: -1, Size: 1}).ReadAt(make([]byte, 1), 0); err == nil || err == io.EOF {
		t.Errorf("without a descriptor: got %v", err)
	}
}
