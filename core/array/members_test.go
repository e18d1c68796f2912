package array

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

func tarOf(t *testing.T, format tar.Format, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		h := &tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o600, Format: format}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, members[i+1][:h.Size])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Members are views of the archive in their order, long names and odd ones included; directories are passed over.
func TestTarMembersAreViews(t *testing.T) {
	long := strings.Repeat("deep/", 40) + "name.txt"
	for _, format := range []tar.Format{tar.FormatPAX, tar.FormatGNU} {
		b := tarOf(t, format, "a.txt", "hello", "dir/", "", long, strings.Repeat("x", 1000), "../empty", "")
		want := []string{"a.txt", "hello", long, strings.Repeat("x", 1000), "../empty", ""}
		var got []string
		for m, err := range Tar(b) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Name, string(m.Data))
			if cap(m.Data) != len(m.Data) {
				t.Errorf("%s is open at its end", m.Name)
			}
			if len(m.Data) > 0 {
				at := bytes.Index(b, m.Data)
				if &b[at] != &m.Data[0] {
					t.Errorf("%s was copied", m.Name)
				}
			}
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("got %.300q", got)
		}
	}
}

// An archive cut in a member or with a broken header ends in an error, never past its end; stopping early is fine.
func TestDamagedTarEndsInAnError(t *testing.T) {
	b := tarOf(t, tar.FormatPAX, "a", strings.Repeat("x", 2000), "b", "y")
	last := func(b []byte) (n int, err error) {
		for _, e := range Tar(b) {
			n, err = n+1, e
		}
		return n, err
	}
	if n, err := last(b[:1000]); n != 1 || err == nil || !strings.Contains(err.Error(), "truncated: got 488 bytes, want 2000") {
		t.Errorf("%d members, %v", n, err)
	}
	if n, err := last(b[:100]); n != 1 || err == nil || err.Error() != "array: tar: truncated: got 100 bytes, which end within a header: unexpected EOF" {
		t.Errorf("%d members, %v", n, err)
	}
	broken := bytes.Clone(b)
	broken[0] ^= 1
	if _, err := last(broken); err == nil {
		t.Error("a header with a wrong checksum was taken")
	}
	for range Tar(b) {
		break
	}
}

// A sparse file, whose bytes do not lie in one piece, is an error and not passed over.
func TestSparseTarMembersAreRefused(t *testing.T) {
	b := tarOf(t, tar.FormatGNU, "a", strings.Repeat("x", 600))
	b[156] = tar.TypeGNUSparse
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	for _, err := range Tar(b) {
		if err == nil || !strings.Contains(err.Error(), "sparse") {
			t.Errorf("got %v", err)
		}
	}
}

// Stored members are views and deflated ones are not; a damaged one is an error of its own and the next still comes.
func TestZipMembers(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, method := range map[string]uint16{"stored": zip.Store, "deflated": zip.Deflate} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, strings.Repeat(name, 100))
	}
	w.Create("dir/")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	n := 0
	for m, err := range Zip(b) {
		if err != nil || string(m.Data) != strings.Repeat(m.Name, 100) {
			t.Fatalf("%s: %v", m.Name, err)
		}
		n++
	}
	b[bytes.Index(b, []byte("storedstored"))+20] ^= 1
	bad := 0
	for m, err := range Zip(b) {
		if err != nil {
			bad++
			if m.Name != "stored" || m.Data != nil {
				t.Errorf("%s, %v", m.Name, err)
			}
		}
	}
	if n != 2 || bad != 1 {
		t.Errorf("%d members, %d damaged", n, bad)
	}
	for _, err := range Zip([]byte("no archive")) {
		if err == nil {
			t.Error("taken")
		}
	}
}

// An archive cut anywhere, or with bits flipped, its checksums wrong or right, ends in an error or gives members that lie within it.
func TestDamagedArchivesEndWithinTheirBytes(t *testing.T) {
	archives := map[string][]byte{
		"ustar": tarOf(t, tar.FormatUSTAR, "a", strings.Repeat("x", 700), "b", "y"), "pax": tarOf(t, tar.FormatPAX, strings.Repeat("n", 150), "text"),
		"stored": file(t, "stored.npz"), "deflated": file(t, "deflated.npz"),
	}
	for name, whole := range archives {
		refused := 0
		try := func(what string, bad []byte) {
			failed := false
			for m, err := range Tar(bad) {
				if failed = failed || err != nil; len(m.Data) > len(bad) {
					t.Fatalf("%s, %s: a member of %d bytes", name, what, len(m.Data))
				}
			}
			for _, err := range Zip(bad) {
				failed = failed || err != nil
			}
			if z, err := OpenNPZ(bad); err == nil {
				for _, name := range z.Names() {
					if a, err := z.Array(name); err == nil {
						a.CopyTo(make([]byte, len(a.Data)))
					}
				}
			}
			if failed {
				refused++
			}
		}
		n := damage.Count(300)
		damage.Cuts(whole, n, try)
		damage.Flips(whole, n, try)
		if refused < n/4 {
			t.Errorf("%s: %d of %d were refused", name, refused, 2*n)
		}
	}
}

// An archive that is cut short says so with what is there, and a member that is damaged says it once.
func TestDamagedArchivesSayWhatIsWrongOnce(t *testing.T) {
	whole := file(t, "deflated.npz")
	cut := whole[:len(whole)-1]
	_, err := OpenNPZ(cut)
	for _, err := range []error{err, firstError(Zip(cut))} {
		want := fmt.Sprintf(`no directory of an archive at the end of %d bytes that begin with "PK\x03\x04`, len(cut))
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, zip.ErrFormat) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	at, err := z.File[0].DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.Clone(whole)
	whole[at] = 7 // the last block, of a kind that there is not
	if err := firstError(Zip(whole)); err == nil || strings.Count(err.Error(), "corrupt input") != 1 {
		t.Errorf("got %v, want it once", err)
	}
}

func firstError(members iter.Seq2[Member, error]) error {
	for _, err := range members {
		if err != nil {
			return err
		}
	}
	return nil
}

// Whatever the bytes, going through them ends, and every member lies inside or has memory of its own.
func FuzzMembers(f *testing.F) {
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for m := range Tar(b) {
			if len(m.Data) > len(b) {
				t.Fatal("longer than the archive")
			}
		}
		for range Zip(b) {
		}
	})
}
