package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sound is the content of sample i's sound: of another length in each.
func sound(i int) string { return strings.Repeat(fmt.Sprintf("sound %03d ", i), 1+97*i) }

// pictureAndSound are the media of the tests, sound in the order that a decoder would have it: before the picture.
var pictureAndSound = []Medium{{Name: "audio", From: []string{"wav"}}, {Name: "image"}}

func columnsOf(s Source) []Column {
	if c, ok := s.(Columnar); ok {
		return c.Columns()
	}
	return nil
}

// wantParts fails unless a read gives every sample's parts, each with zero bytes behind it; also into a buffer that held another one.
func wantParts(t *testing.T, s Source, want func(i int) []string) {
	t.Helper()
	var b Buffer
	for round := range 2 {
		for i := range s.Len() {
			if err := s.Read(background, i, &b); err != nil {
				t.Fatal(err)
			}
			total := 0
			for k, part := range want(int(i)) {
				total += len(part)
				if string(b.Part(k)) != part {
					t.Fatalf("round %d: sample %d, part %d: got %.40q of %d bytes, want %.40q of %d", round, i, k, b.Part(k), len(b.Part(k)), part, len(part))
				}
				if !bytes.Equal(b.afterPart(k), make([]byte, Padding)) {
					t.Fatalf("sample %d, part %d: padding %q", i, k, b.afterPart(k))
				}
			}
			for c := range columnsOf(s) {
				total += len(b.Value(c))
			}
			if b.Size() != total {
				t.Fatalf("sample %d: got %d bytes, want %d", i, b.Size(), total)
			}
		}
	}
}

// What other media and columns are read from is no sample of its own, where a directory has others; where it has not, the same file is both.
func TestFilesBesideTheSamplesAreNoSamples(t *testing.T) {
	for _, c := range []struct {
		files, want []string
		media       []string
		columns     []string
	}{
		{[]string{"0.jpg", "0.png", "1.jpg", "1.png", "2.jpg", "2.png"}, []string{"0.jpg", "1.jpg", "2.jpg"}, []string{"png"}, nil},
		{[]string{"0.png", "0.seg.png", "1.PNG", "1.seg.PNG"}, []string{"0.png", "1.PNG"}, []string{"seg.png"}, nil},
		{[]string{"a/0.jpg", "a/0.png", "a/0.tif", "a/1.png"}, []string{"a/0.jpg", "a/1.png"}, []string{"png", "tif"}, nil},
		{[]string{"a.mp4", "b.mkv", "b.mp4", "c.mkv"}, []string{"a.mp4", "b.mkv", "c.mkv"}, []string{"mp4"}, nil},
		{[]string{"0.jpg", "0.png"}, []string{"0.jpg"}, nil, []string{"png"}},
		{[]string{"0.png", "a/0.jpg", "a/0.png"}, []string{"0.png", "a/0.jpg"}, []string{"png"}, nil},
		{[]string{"0.png", "1.png"}, []string{"0.png", "1.png"}, []string{"png"}, []string{"png"}},
		{[]string{"0.jpg", "0.png"}, []string{"0.jpg", "0.png"}, nil, nil},
	} {
		f := FolderConfig{Dir: tree(t, c.files...), Extensions: append([]string{"mp4", "mkv"}, ImageExtensions...), Media: []Medium{{Name: "photo"}}}
		for _, from := range c.media {
			f.Media = append(f.Media, Medium{Name: from, From: []string{from}})
		}
		for _, from := range c.columns {
			f.Columns = append(f.Columns, Column{Name: "c", From: from})
		}
		if got := keys(openF(t, f)); !slices.Equal(got, c.want) {
			t.Errorf("%q beside %q %q: got %q, want %q", c.files, c.media, c.columns, got, c.want)
		}
	}
}

// zipNames writes an archive whose members have no more than their headers between them.
func zipNames(t *testing.T, parts []part) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, p := range parts {
		f, err := w.CreateRaw(&zip.FileHeader{Name: p.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(p.content)), UncompressedSize64: uint64(len(p.content)), CompressedSize64: uint64(len(p.content))})
		must(t, err)
		_, err = f.Write([]byte(p.content))
		must(t, err)
	}
	must(t, w.Close())
	file := filepath.Join(t.TempDir(), "a.zip")
	write(t, file, b.String())
	return file
}

// Every part of a sample is in the buffer with its padding, however near the parts lie in the archive, and wherever they come from.
func TestEveryPartOfASampleIsReadWithItsPadding(t *testing.T) {
	const n = 30
	var parts []part
	dir := t.TempDir()
	table := "path,audio\n"
	for i := range n {
		name := fmt.Sprintf("%03d", i)
		parts = append(parts, part{name + ".jpg", picture(i)}, part{name + ".txt", name}, part{name + ".wav", sound(i)})
		write(t, filepath.Join(dir, name+".jpg"), picture(i))
		write(t, filepath.Join(dir, name+".wav"), sound(i))
		table += name + ".wav," + name + ".jpg\n"
	}
	write(t, filepath.Join(dir, "a.csv"), table)
	swapped := []Medium{{Name: "image"}, {Name: "audio", From: []string{"wav"}}}
	both := func(i int) []string { return []string{sound(i), picture(i)} }
	archive := filepath.Join(t.TempDir(), "a.tar")
	write(t, archive, string(tarOf(t, tar.FormatGNU, parts...)))
	t.Run("tar", func(t *testing.T) {
		wantParts(t, openS(t, ShardsConfig{Shards: []string{archive}, Media: pictureAndSound, Columns: []Column{{Name: "txt"}}}), both)
	})
	t.Run("zip", func(t *testing.T) {
		wantParts(t, openS(t, ShardsConfig{Shards: []string{zipNames(t, parts)}, Media: pictureAndSound, Columns: []Column{{Name: "txt"}}}), both)
	})
	t.Run("table", func(t *testing.T) {
		s, err := OpenList(ListConfig{File: dir + "/a.csv", Others: []Medium{{Name: "image", From: []string{"audio"}}}})
		must(t, err)
		defer s.Close()
		wantParts(t, s, both)
	})
	t.Run("folder", func(t *testing.T) {
		s, err := OpenFolder(FolderConfig{Dir: dir, Media: swapped})
		must(t, err)
		defer s.Close()
		wantParts(t, s, func(i int) []string { return []string{picture(i), sound(i)} })
	})
	t.Run("parquet", func(t *testing.T) {
		type row struct {
			Image, Sound []byte
			Label        int64
		}
		var rows []row
		for i := range n {
			rows = append(rows, row{[]byte(picture(i)), []byte(sound(i)), int64(i)})
		}
		file := t.TempDir() + "/a.parquet"
		writeParquet(t, file, rows, 8)
		s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: []Medium{{Name: "audio", From: []string{"Sound"}}, {Name: "image", From: []string{"Image"}}}})
		must(t, err)
		defer s.Close()
		wantParts(t, s, both)
	})
	t.Run("cache", func(t *testing.T) {
		k := openK(t, CacheConfig{Dir: t.TempDir()})
		s, err := k.Wrap(openS(t, ShardsConfig{Shards: []string{archive}, Media: pictureAndSound, Columns: []Column{{Name: "txt"}}}))
		must(t, err)
		wantParts(t, s, both)
		if got := k.Stats(); got.Hits != n || got.Corrupt != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("guard", func(t *testing.T) {
		shards, err := OpenShards(background, ShardsConfig{Shards: []string{archive}, IndexDir: t.TempDir(), Media: pictureAndSound})
		must(t, err)
		s := Guard(shards, GuardConfig{Timeout: time.Hour, Stuck: 1})
		defer func() { must(t, s.Close()) }()
		wantParts(t, s, both)
	})
}

// Two media of one file, such as a video and its sound, share its bytes.
func TestMediaOfOneFileShareItsBytes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/1.mp4", "film")
	write(t, dir+"/a.csv", "path,audio\n1.mp4,1.mp4\n")
	archive := t.TempDir() + "/a.zip"
	must(t, os.Rename(zipNames(t, []part{{"1.mp4", "film"}, {"1.x", "x"}}), archive))
	media := []Medium{{Name: "video", From: []string{"mp4"}}, {Name: "audio", From: []string{"mp4"}}}
	folder, err := OpenFolder(FolderConfig{Dir: dir, Extensions: []string{"mp4"}, Media: media})
	must(t, err)
	defer folder.Close()
	table, err := OpenList(ListConfig{File: dir + "/a.csv", Others: []Medium{{Name: "audio", From: []string{"audio"}}}})
	must(t, err)
	defer table.Close()
	for _, s := range []Source{folder, table, openS(t, ShardsConfig{Shards: []string{archive}, Media: media})} {
		var b Buffer
		must(t, s.Read(background, 0, &b))
		if string(b.Part(0)) != "film" || &b.Part(0)[0] != &b.Part(1)[0] || !bytes.Equal(b.afterPart(1), make([]byte, Padding)) {
			t.Errorf("%T: got %q and %q", s, b.Part(0), b.Part(1))
		}
	}
}

// A part that is not there, or is nothing, is a bad sample's, and the message says which medium it was to be.
func TestMissingPartNamesItsMedium(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/1.jpg", "picture")
	write(t, dir+"/2.jpg", "picture")
	write(t, dir+"/2.wav", "")
	folder, err := OpenFolder(FolderConfig{Dir: dir, Media: []Medium{{Name: "image"}, {Name: "audio", From: []string{"wav"}}}})
	must(t, err)
	defer folder.Close()
	archive := t.TempDir() + "/a.tar"
	write(t, archive, string(tarOf(t, tar.FormatGNU, part{"1.jpg", "p"}, part{"2.jpg", "p"}, part{"2.wav", ""}, part{"3.jpg", "p"}, part{"3.wav", "s"})))
	shards := openS(t, ShardsConfig{Shards: []string{archive}, Media: pictureAndSound})
	for i, want := range []struct {
		cause Cause
		texts [2]string
	}{
		{Part, [2]string{`audio: file "1.wav" is not there`, "audio: no part is it; the parts are jpg"}},
		{Empty, [2]string{`audio: file "2.wav": got 0 bytes`, "audio: got 0 bytes"}},
	} {
		for k, s := range []Source{folder, shards} {
			var b Buffer
			err := s.Read(background, int64(i), &b)
			e, ok := err.(*Error)
			if !ok || e.Cause != want.cause || !strings.Contains(e.Error(), want.texts[k]) || b.Size() != 0 {
				t.Errorf("%T, sample %d: got %v and %d bytes, want %s %q", s, i, err, b.Size(), want.cause, want.texts[k])
			}
		}
	}
	if _, err := OpenShards(background, ShardsConfig{Shards: []string{archive}, IndexDir: t.TempDir(), Media: []Medium{{Name: "image"}, {Name: "audio", From: []string{"mp3", "ogg"}}}}); err == nil ||
		!strings.Contains(err.Error(), "no sample has a part mp3 or ogg; the parts are jpg, wav; say which is in audio.from; it may be another section's, too") {
		t.Errorf("got %v", err)
	}
}

// In the steady state samples of several parts in archives and in folders are read without an allocation.
func TestReadingSeveralPartsAllocatesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/1.jpg", picture(1))
	write(t, dir+"/1.wav", sound(1))
	folder, err := OpenFolder(FolderConfig{Dir: dir, Media: []Medium{{Name: "image"}, {Name: "audio", From: []string{"wav"}}}})
	must(t, err)
	defer folder.Close()
	for _, s := range []Source{folder, openS(t, ShardsConfig{Shards: []string{zipNames(t, []part{{"1.jpg", picture(1)}, {"1.wav", sound(1)}})}, Media: pictureAndSound})} {
		var b Buffer
		must(t, s.Read(background, 0, &b))
		if n := testing.AllocsPerRun(50, func() { must(t, s.Read(background, 0, &b)) }); n != 0 {
			t.Errorf("%T: %v allocations", s, n)
		}
	}
}

// An empty text beside a folder's file is an empty text, as an empty member of an archive is; an array of no bytes is none.
func TestEmptyTextBesideAFileIsEmptyText(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/1.jpg", "picture")
	write(t, dir+"/1.txt", "")
	write(t, dir+"/1.npy", "")
	s, err := OpenFolder(FolderConfig{Dir: dir, Columns: []Column{{Name: "txt"}}})
	must(t, err)
	defer s.Close()
	b, text := read(t, s, 0)
	if text != "picture" || len(b.Value(0)) != 0 {
		t.Errorf("got %q and %q", text, b.Value(0))
	}
	arrays, err := OpenFolder(FolderConfig{Dir: dir, Columns: []Column{{Name: "a", From: "npy", Type: Array}}})
	if err == nil {
		must(t, arrays.Close())
	}
	if err == nil || !strings.Contains(err.Error(), "none of the first 1 samples tells its type and shape") {
		t.Errorf("got %v", err)
	}
}
