package source

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

// An index is made once; a later opening takes it as it is, and makes it anew for an archive that changed.
func TestIndexIsKeptAndFollowsTheArchive(t *testing.T) {
	for _, beside := range []bool{false, true} {
		dir, kept := t.TempDir(), t.TempDir()
		file := filepath.Join(dir, "x.tar")
		write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
		c := ShardsConfig{Shards: []string{file}, IndexDir: kept, IndexBeside: beside}
		notes := func(want int) {
			t.Helper()
			if got := openS(t, c).(*shards).notes; len(got) != want {
				t.Fatalf("beside %v: notes %q, want %d", beside, got, want)
			}
		}
		notes(1)
		notes(0)
		index := filepath.Join(dir, "x.tar"+indexEnding)
		if !beside {
			found, err := os.ReadDir(kept)
			must(t, err)
			if len(found) != 1 {
				t.Fatalf("%v", found)
			}
			index = filepath.Join(kept, found[0].Name())
		}
		write(t, file, string(tarOf(t, tar.FormatGNU, pairs(5, 9)...)))
		notes(1)
		if s := openS(t, c); s.Len() != 4 || string(s.Key(0, nil)) != "00005" {
			t.Fatalf("%q", keys(s))
		}
		// Damage of the header or the length is found at once, and mended.
		good, err := os.ReadFile(index)
		must(t, err)
		for _, bad := range [][]byte{nil, good[:40], good[:len(good)-1], append(bytes.Clone(good), 0), flip(good, 9), flip(good, 20), flip(good, 80), flip(good, 7)} {
			must(t, os.Remove(index))
			write(t, index, string(bad))
			notes(1)
			notes(0)
		}
	}
}

// What was damaged behind the header is found when it is first looked at, and made again in place: nobody notices but the disk.
func TestDamagedIndexIsMadeAgainWhenItIsUsed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true, Label: "cls"}
	want := openS(t, c)
	good, err := os.ReadFile(file + indexEnding)
	must(t, err)
	body := len(want.(*shards).all[0].index.header)
	for at := body; at < len(good); at++ {
		must(t, os.Remove(file+indexEnding))
		write(t, file+indexEnding, string(flip(good, at)))
		s := openS(t, c)
		if notes := s.(*shards).notes; len(notes) > 0 {
			t.Fatalf("byte %d: notes %q", at, notes)
		}
		for i := range s.Len() {
			if got, want := string(s.Key(i, nil)), string(want.Key(i, nil)); got != want || s.Label(i) != i {
				t.Fatalf("byte %d: sample %d is %q with label %d, want %q", at, i, got, s.Label(i), want)
			}
			if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) {
				t.Fatalf("byte %d: sample %d: %q", at, i, text)
			}
		}
		if mended, err := os.ReadFile(file + indexEnding); err != nil || !bytes.Equal(mended, good) {
			t.Fatalf("byte %d: the file is not as it was: %v", at, err)
		}
	}
}

// An index that is cut off or overwritten while it is in use is made again too, also what says what it is of.
func TestIndexDamagedWhileInUseIsMadeAgain(t *testing.T) {
	for name, damage := range map[string]func(file string, size int64) error{
		"cut off":            func(file string, _ int64) error { return os.Truncate(file, 0) },
		"cut off in a page":  func(file string, size int64) error { return os.Truncate(file, size/2) },
		"overwritten":        func(file string, size int64) error { return overwrite(file, make([]byte, size)) },
		"its head":           func(file string, _ int64) error { return overwrite(file, make([]byte, 40)) },
		"removed":            func(file string, _ int64) error { return os.Remove(file) },
		"another's in place": func(file string, size int64) error { return overwrite(file, bytes.Repeat([]byte{1}, int(size))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "x.tar")
			write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 500)...)))
			c := ShardsConfig{Shards: []string{file}, IndexBeside: true, Label: "cls"}
			s := openS(t, c)
			st, err := os.Stat(file + indexEnding)
			must(t, err)
			must(t, damage(file+indexEnding, st.Size()))
			for i := range s.Len() {
				if key := string(s.Key(i, nil)); key == "" || s.Label(i) != i%7 {
					t.Fatalf("sample %d is %q with label %d", i, key, s.Label(i))
				}
				if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) {
					t.Fatalf("sample %d: %q", i, text)
				}
			}
		})
	}
}

// overwrite writes the beginning of a file in place.
func overwrite(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// Many that meet the damage at once all get the right samples, and the archive is looked through once.
func TestDamagedIndexIsMadeAgainOnceForAll(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 8)...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true}
	good := openS(t, c).(*shards).all[0].index
	data, err := os.ReadFile(file + indexEnding)
	must(t, err)
	write(t, file+indexEnding, string(flip(data, len(good.header)+3)))
	s := openS(t, c)
	for i, err := range readTogether(t, background, s, sequenceOf(0, s.Len())) {
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
	}
	if maps := len(s.(*shards).all[0].index.maps); maps != 2 {
		t.Fatalf("%d mappings, want the damaged one and one more", maps)
	}
}

// Where the archive is another one by now, its damaged index stays damaged, and each of its samples says so.
func TestDamagedIndexOfAChangedArchiveGivesBadSamples(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true}
	header := len(openS(t, c).(*shards).all[0].index.header)
	data, err := os.ReadFile(file + indexEnding)
	must(t, err)
	write(t, file+indexEnding, string(flip(data, header)))
	s := openS(t, c)
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(3, 9)...)))
	for i := range s.Len() {
		var buf Buffer
		var e *Error
		if err := s.Read(background, i, &buf); !errors.As(err, &e) || e.Cause != IO || !strings.Contains(err.Error(), "index was damaged") ||
			!strings.Contains(err.Error(), "another") {
			t.Fatalf("sample %d: %v", i, err)
		}
		if key, label := s.Key(i, nil), s.Label(i); len(key) > 0 || label != -1 {
			t.Fatalf("sample %d: key %q, label %d", i, key, label)
		}
	}
}

// More shards than the kernel lets a process map are refused with the remedy, before any is opened.
func TestMoreShardsThanCanBeMappedAreRefused(t *testing.T) {
	for limit, most := range map[string]int{"65530\n": 57338, "262144\n": 253952, "100\n": 0} {
		if err := checkMaps(most, limit); err != nil && most > 0 {
			t.Errorf("%d shards of a limit of %q: %v", most, limit, err)
		}
		if err := checkMaps(most+1, limit); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("want at most %d,", most)) {
			t.Errorf("%d shards of a limit of %q: %v", most+1, limit, err)
		}
	}
	if err := checkMaps(1<<40, ""); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	limit, err := os.ReadFile(mapLimit)
	if err != nil || checkMaps(100_000, string(limit)) == nil {
		t.Skip("this kernel lets a process map 100,000 indexes")
	}
	_, err = OpenShards(background, ShardsConfig{Shards: []string{t.TempDir() + "/{00000..99999}.tar"}})
	if err == nil || !strings.Contains(err.Error(), "sysctl vm.max_map_count=") {
		t.Errorf("100,000 shards: %v", err)
	}
}

// To open an index touches its header alone, however much it holds.
func TestOpeningAnIndexChecksItsHeaderAlone(t *testing.T) {
	b := newIndexBuilder()
	for i := range 20000 {
		must(t, b.add(fmt.Appendf(nil, "%06d.jpg", i), int64(i)*512, 100, nil))
	}
	v := version{size: 20000 * 512, tag: 7}
	data := b.encode(v)
	x, err := parseIndex(data, v)
	must(t, err)
	if n := checkedBlocks(x); n != 0 {
		t.Fatalf("%d blocks were checked at open", n)
	}
	if _, _, key, err := x.sample(12345); err != nil || string(key) != "012345" {
		t.Fatalf("%q %v", key, err)
	}
	if n := checkedBlocks(x); n != 2 {
		t.Fatalf("%d blocks were checked for a key, want that of the sample and that of the key", n)
	}
	if len(x.header) > 72+100+len(data)/1000 {
		t.Fatalf("a header of %d bytes for an index of %d", len(x.header), len(data))
	}
}

func checkedBlocks(x *index) (n int) {
	c := x.content.Load()
	for i := range c.checked {
		n += bits.OnesCount32(c.checked[i].Load())
	}
	return n
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

// Where indexes cannot be kept, shards are read all the same, and a note says so.
func TestIndexThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.tar"), string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	write(t, filepath.Join(dir, "file"), "")
	s := openS(t, ShardsConfig{Shards: []string{dir + "/x.tar"}, IndexDir: dir + "/file/index"})
	if notes := s.(*shards).notes; len(notes) != 2 || !strings.Contains(notes[1], "could not be kept") {
		t.Fatalf("%q", notes)
	}
	if _, text := read(t, s, 2); text != "picture 2" {
		t.Fatal(text)
	}
}

// FuzzIndex: no index file, even one with a right check sum, leads outside of itself or of the archive.
func FuzzIndex(f *testing.F) {
	archive := tarOf(f, tar.FormatGNU, pairs(0, 3)...)
	b, err := buildTarIndex(background, &window{r: bytes.NewReader(archive), size: int64(len(archive)), chunk: 1024})
	must(f, err)
	v := version{size: 1 << 20, tag: 7}
	f.Add(b.encode(v))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = mendIndex(data)
		x, err := parseIndex(data, v)
		if err != nil {
			return
		}
		for i := range x.n {
			members, err := x.appendMembers(i, nil)
			if err != nil {
				continue
			}
			for _, k := range members {
				if k.off+int64(k.size) > v.size || int(k.part) >= len(x.parts) {
					t.Fatalf("member %+v", k)
				}
			}
		}
	})
}

// mendIndex makes the sums of an index right, so that the fuzzer gets beyond them.
func mendIndex(data []byte) []byte {
	data = bytes.Clone(data)
	le := binary.LittleEndian
	if len(data) < indexHeader {
		return data
	}
	copy(data, indexMagic)
	word := func(at int) int { return int(le.Uint16(data[at:])) }
	start, blocks := indexLayout(word(32), word(40), word(48), word(56), word(64))
	if start > len(data) {
		return data
	}
	for k := range min(blocks, (len(data)-start+indexBlock-1)/indexBlock) {
		le.PutUint64(data[start-8*blocks+8*k:], xxh3.Hash(blockOf(data[start:], k)))
	}
	le.PutUint64(data[8:], xxh3.Hash(data[16:start]))
	return data
}
