package source

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
)

// What stands under the wrong key of a source is refused with the key that reads it.
func TestWhatAnotherKeyReadsIsNamedByIt(t *testing.T) {
	dir := tree(t, "pics/a.jpg", "t.csv", "sound.wav", "more/b.tar")
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("a.tar"), "a\x00b")
	write(t, at("a.jpg"), "\xff\xd8\x00")
	write(t, at("x.npy"), "\x93NUMPY\x00")
	write(t, at("a.dat"), "a\x00b")
	folder := func(name string) error { _, err := OpenFolder(FolderConfig{Dir: at(name)}); return err }
	list := func(name string) error { _, err := OpenList(ListConfig{File: at(name)}); return err }
	shards := func(name string) error {
		_, err := OpenShards(background, ShardsConfig{Shards: []string{at(name)}, IndexDir: t.TempDir()})
		return err
	}
	for _, c := range []struct {
		open       func(string) error
		name, want string
	}{
		{folder, "a.tar", "is not a directory; it is read by shards in place of folder, such as shards: " + at("a.tar")},
		{folder, "t.csv", "is not a directory; it is read by list in place of folder, such as list: " + at("t.csv")},
		{folder, "pics/*.jpg", "a folder is no pattern: name the directory, which is read with all that is below it, and in source.extensions the endings of what is meant"},
		{list, "a.tar", "got a zero byte, want text, one path a line; it is read by shards in place of list, such as shards: " + at("a.tar")},
		{list, "a.jpg", "; it is read by folder in place of list, such as folder: " + dir},
		{list, "x.npy", "; arrays are read by arrays in place of list, such as arrays: [{name: x, file: " + at("x.npy") + "}]"},
		{list, "a.dat", "line 1: got a zero byte in the path; want text, one path a line"},
		{list, "pics", "got a directory, want a regular file; a directory of media is read by folder in place of list, one of shards by shards"},
		{shards, "t.csv", "or a TFRecord; it is read by list in place of shards, such as list: " + at("t.csv")},
		{shards, "sound.wav", "; it is read by folder in place of shards, such as folder: " + dir},
		{shards, "pics", "name the files in it, such as " + at("pics/*.tar") + ", or, of media, say folder in place of shards"},
		{shards, "more", "name the files in it, such as " + at("more/*.tar")},
	} {
		if err := c.open(c.name); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	signed := "https://h/a.tar?X-Amz-Signature=s"
	if got, want := readBy(signed, "list"), "; it is read by shards in place of list, such as shards: "+store.Shown(signed); got != want || strings.Contains(got, "Amz") {
		t.Errorf("got %q, want %q", got, want)
	}
}
