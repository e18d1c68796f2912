package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// Names beyond 100 bytes are whole, in every way that tar has for them.
func TestLongNamesAreWhole(t *testing.T) {
	long := strings.Repeat("directory/", 12) + "a picture with ümlauts.jpg"
	ustar := strings.Repeat("d", 90) + "/" + strings.Repeat("e", 60) + "/x.jpg"
	for format, name := range map[tar.Format]string{tar.FormatGNU: long, tar.FormatPAX: long, tar.FormatUSTAR: ustar} {
		file := filepath.Join(t.TempDir(), "x.tar")
		write(t, file, string(tarOf(t, format, part{name, "p"}, part{"z.jpg", "q"})))
		s := openS(t, ShardsConfig{Shards: []string{file}})
		if got := keys(s); !slices.Equal(got, []string{strings.TrimSuffix(name, ".jpg"), "z"}) {
			t.Fatalf("%v: %q", format, got)
		}
	}
}

// What the tar of this system writes in each of its formats is read, with the command that docs/sources.md names.
func TestSystemTarIsRead(t *testing.T) {
	program, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar on this system")
	}
	long := strings.Repeat("long/", 30)
	dir := tree(t, "b/2.jpg", "b/2.json", "b/2-x.jpg", "b/20.jpg", "a/1.jpg", long+"ü.jpg", ".hidden.jpg")
	for _, format := range []string{"pax", "gnu"} {
		file := filepath.Join(t.TempDir(), "x.tar")
		out, err := exec.Command(program, "--sort=name", "--format="+format, "--dereference", "--hard-dereference", "-cf", file, "-C", dir, ".").CombinedOutput()
		if err != nil {
			t.Skipf("this tar has other options: %s", out)
		}
		s := openS(t, ShardsConfig{Shards: []string{file}})
		if got := keys(s); !slices.Equal(got, []string{"a/1", "b/2-x", "b/2", "b/20", long + "ü"}) {
			t.Fatalf("%s: %q", format, got)
		}
		for i := range s.Len() {
			if _, text := read(t, s, i); text != string(s.Key(i, nil))+".jpg" {
				t.Fatalf("%s: %q", format, text)
			}
		}
	}
}

// An archive that is not whole, or holds what it should not, is refused by its name and the member's.
func TestBadArchivesAreRefusedByName(t *testing.T) {
	good := tarOf(t, tar.FormatGNU, pairs(0, 3)...)
	raw := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		h.Mode = 0o644
		must(t, w.WriteHeader(&h))
		must(t, w.Close())
		return b.Bytes()
	}
	spoilt := bytes.Clone(good)
	spoilt[1024+20] ^= 1
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut in a member":     {good[:700], "truncated: it ends at 700 bytes"},
		"cut in a header":     {good[:1024+100], "truncated"},
		"cut before the mark": {good[:6*1024], "truncated: it ends at 6144 bytes, before the end-of-archive mark"},
		"empty":               {nil, "truncated"},
		"gzip":                {append([]byte("\x1f\x8b\x08\x00"), make([]byte, 2000)...), "the archive is compressed"},
		"little in gzip":      {append([]byte("\x1f\x8b\x08\x00"), make([]byte, 20)...), "header at 0: not a tar header; the archive is compressed"},
		"not a tar":           {bytes.Repeat([]byte("hello "), 500), "not a tar header"},
		"flipped bit":         {spoilt, "header at 1024: not a tar header: check sum"},
		"joined by cat":       {append(bytes.Clone(good), good...), "tar --concatenate, not cat"},
		"never filled":        {append(bytes.Clone(good[:6*1024]), make([]byte, 2<<20)...), "got 2096128 bytes of zeros after the end-of-archive mark at 7168, want at most 1048576: so ends a copy that was broken off in a file of the full size; copy it again, or where it is whole cut them off: truncate -s 7168 FILE"},
		"climbs":              {tarOf(t, tar.FormatGNU, part{"a/../../x.jpg", "p"}), `member "a/../../x.jpg": the name leaves the archive`},
		"absolute":            {tarOf(t, tar.FormatGNU, part{"/etc/x.jpg", "p"}), `member "/etc/x.jpg": the name leaves the archive`},
		"same part twice":     {tarOf(t, tar.FormatGNU, part{"a.jpg", "p"}, part{"a.JPG", "p"}), `sample "a": part "jpg" is there twice`},
		"same key again":      {tarOf(t, tar.FormatGNU, part{"a.jpg", "p"}, part{"b.jpg", "p"}, part{"a.cls", "1"}), `sample "a": its key is there again`},
		"symlink":             {raw(tar.Header{Name: "a.jpg", Linkname: "b.jpg", Typeflag: tar.TypeSymlink}), `member "a.jpg": a link`},
		"hard link":           {raw(tar.Header{Name: "a.jpg", Linkname: "b.jpg", Typeflag: tar.TypeLink}), "--hard-dereference"},
		"fifo":                {raw(tar.Header{Name: "a.jpg", Typeflag: tar.TypeFifo}), "a device or fifo"},
		"no pictures":         {tarOf(t, tar.FormatGNU, part{"a.cls", "1"}, part{"a.wav", "x"}), "the parts are cls, wav; say which is in source.image"},
	} {
		file := filepath.Join(t.TempDir(), "x.tar")
		write(t, file, string(c.data))
		_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		} else if what != "no pictures" && !strings.HasPrefix(err.Error(), fmt.Sprintf("source: shards: shard %q: ", file)) {
			t.Errorf("%s: got %v, want the shard's name", what, err)
		}
	}
}

// An archive may be filled up with zeros to a record as large as tapes have.
func TestArchiveFilledUpToARecordIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	write(t, file, string(append(tarOf(t, tar.FormatGNU, pairs(0, 3)...), make([]byte, 1<<20-2048)...)))
	if s := openS(t, ShardsConfig{Shards: []string{file}}); s.Len() != 3 {
		t.Fatalf("%d samples, want 3", s.Len())
	}
}

// A zip archive of stored members is a shard like any other; compressed members and names that climb are refused.
func TestZipShards(t *testing.T) {
	zipOf := func(method uint16, parts ...part) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, p := range parts {
			f, err := w.CreateHeader(&zip.FileHeader{Name: p.name, Method: method})
			must(t, err)
			_, err = f.Write([]byte(p.content))
			must(t, err)
		}
		must(t, w.Close())
		return b.String()
	}
	file := filepath.Join(t.TempDir(), "x.zip")
	write(t, file, zipOf(zip.Store, pairs(0, 5)...))
	s := openS(t, ShardsConfig{Shards: []string{file}})
	for i := range s.Len() {
		if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) || s.Label(i) != i%7 {
			t.Fatalf("%d: %q", i, text)
		}
	}
	rawZip := func(h zip.FileHeader, content string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h.UncompressedSize64, h.CompressedSize64 = uint64(len(content)), uint64(len(content))
		f, err := w.CreateRaw(&h)
		must(t, err)
		_, err = f.Write([]byte(content))
		must(t, err)
		must(t, w.Close())
		return b.String()
	}
	beyond := func(archive string) string { // its directory has the member where there is none
		at := strings.Index(archive, "PK\x01\x02") + 42
		return archive[:at] + "\xff\xff\xff\x00" + archive[at+4:]
	}
	link, fifo := zip.FileHeader{Name: "a.txt", CRC32: crc32.ChecksumIEEE([]byte("b.txt"))}, zip.FileHeader{Name: "a.txt", CRC32: crc32.ChecksumIEEE([]byte("b.txt"))}
	link.SetMode(fs.ModeSymlink | 0o777)
	fifo.SetMode(fs.ModeNamedPipe | 0o644)
	for data, want := range map[string]string{
		zipOf(zip.Deflate, pairs(0, 1)...):                                  `member "00000.jpg": it is compressed; store members as they are (zip -0)`,
		zipOf(zip.Store, part{"../x.jpg", "p"}):                             "the name leaves the archive",
		zipOf(zip.Store, pairs(0, 5)...)[:300]:                              "zip: ",
		beyond(zipOf(zip.Store, part{"a.jpg", "p"})):                        `member "a.jpg": it lies beyond the archive's end`,
		zipOf(zip.Store, pairs(0, 3)...) + zipOf(zip.Store, pairs(3, 5)...): "archives were joined",
		zipOf(zip.Store, pairs(0, 3)...) + zipOf(zip.Store):                 "archives were joined",
		"#!/bin/sh\n" + zipOf(zip.Store, pairs(0, 3)...):                    "a program is in front",
		rawZip(link, "b.txt"):                                               `member "a.txt": a link; archive the file itself`,
		rawZip(fifo, "b.txt"):                                               `member "a.txt": of mode p`,
		rawZip(zip.FileHeader{Name: "a.jpg", Flags: 1}, "secret"):           `member "a.jpg": it is encrypted`,
		rawZip(zip.FileHeader{Name: "a.cls", CRC32: 7}, "3"):                `member "a.cls": damaged: CRC-32 got 6dd28e9b, want 00000007`,
	} {
		write(t, file, data)
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// An archive without members is none to speak of, beside others; alone there is nothing to read. Zip archives are as tar archives.
func TestEmptyArchives(t *testing.T) {
	empty := func(comment string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		must(t, w.SetComment(comment))
		must(t, w.Close())
		return b.String()
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "full.tar"), string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	for name, data := range map[string]string{"a.tar": string(tarOf(t, tar.FormatGNU)), "a.zip": empty(""), "b.zip": empty("nothing in here"), "c.zip": empty(strings.Repeat("x", 5000))} {
		file := filepath.Join(dir, name)
		write(t, file, data)
		s := openS(t, ShardsConfig{Shards: []string{file, filepath.Join(dir, "full.tar")}})
		if notes := strings.Join(s.(*shards).notes, "; "); s.Len() != 3 || !strings.Contains(notes, fmt.Sprintf("shard %q holds no samples", file)) {
			t.Errorf("%s: %d samples, notes %s", name, s.Len(), notes)
		}
		_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()})
		if !errors.Is(err, ErrNoSamples) || !strings.Contains(err.Error(), "got 1 archives without a member") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzTar: no archive makes the scanner crash, hang or place a member outside of the archive.
func FuzzTar(f *testing.F) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX} {
		f.Add(tarOf(f, format, pairs(0, 2)...))
		f.Add(tarOf(f, format, part{strings.Repeat("d/", 45) + "x.jpg", "p"}))
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = indexed(t, mendSums(data)) })
}

// indexed fails where the index made of an archive cannot be read; an archive that is refused is the error.
func indexed(t *testing.T, data []byte) error {
	t.Helper()
	b, err := buildTarIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 1024})
	if err == nil {
		indexHolds(t, b, int64(len(data)), func(string, indexMember) {})
	}
	return err
}

// indexHolds fails where an index that was made of so many bytes cannot be read, and shows each member with the name of its part.
func indexHolds(t *testing.T, b *indexBuilder, size int64, show func(part string, m indexMember)) {
	t.Helper()
	v := version{size: size, tag: 7}
	x, err := parseIndex(b.encode(v), v)
	if err != nil {
		t.Fatalf("an index of ours does not parse: %v", err)
	}
	for i := range x.n {
		members, err := x.appendMembers(i, nil)
		if err != nil || len(members) == 0 {
			t.Fatalf("sample %d of an index of ours: %v %v", i, members, err)
		}
		for _, m := range members {
			show(x.parts[m.part], m)
		}
	}
}

// An archive cut anywhere, or with bits flipped and its sums made right again, is refused or indexed, and the index holds.
func TestDamagedArchivesAreRefusedOrIndexed(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX} {
		whole, refused := tarOf(t, format, append(pairs(0, 3), part{strings.Repeat("d/", 45) + "x.jpg", "p"})...), 0
		try := func(_ string, bad []byte) {
			if indexed(t, bad) != nil {
				refused++
			}
		}
		n := damage.Count(300)
		damage.Cuts(whole, n, try)
		damage.Flips(whole, n, try)
		if refused < n/4 {
			t.Errorf("format %v: %d of %d were refused", format, refused, 2*n)
		}
	}
}

// mendSums repairs the check sum of every block that has one, so that the fuzzer gets beyond it.
func mendSums(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 0; at+tarBlock <= len(data); at += tarBlock {
		h := data[at : at+tarBlock]
		if string(h[257:262]) != "ustar" {
			continue
		}
		sum := 0
		for i, c := range h {
			if i >= 148 && i < 156 {
				c = ' '
			}
			sum += int(c)
		}
		copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
	}
	return data
}
