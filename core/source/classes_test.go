package source

import (
	"archive/tar"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Members of archives have the labels that the same files in a folder have, over all shards, in whatever order they come.
func TestMembersAreLabelledByDirectoryAsAFolderIs(t *testing.T) {
	dir := t.TempDir()
	names := [][]string{{"b/1", "a-b/2", "c/d/3"}, {"4", "a/5", "b/6"}}
	for k, keys := range names {
		var parts []part
		for _, key := range keys {
			write(t, filepath.Join(dir, "tree", key+".jpg"), key)
			parts = append(parts, part{key + ".jpg", key}, part{key + ".cls", "77"})
		}
		write(t, fmt.Sprintf("%s/s-%d.tar", dir, k), string(tarOf(t, tar.FormatPAX, parts...)))
	}
	tree, err := OpenFolder(FolderConfig{Dir: dir + "/tree", Labels: true, Extensions: []string{"jpg"}})
	must(t, err)
	defer tree.Close()
	want := map[string]int64{}
	for i := range tree.Len() {
		want[strings.TrimSuffix(string(tree.Key(i, nil)), ".jpg")] = tree.Label(i)
	}
	s := openS(t, ShardsConfig{Shards: []string{dir + "/s-*.tar"}, Labels: LabelsOfDirectory})
	if !slices.Equal(s.Classes(), tree.Classes()) {
		t.Fatalf("classes %q, the folder's are %q", s.Classes(), tree.Classes())
	}
	for i := range s.Len() {
		key := string(s.Key(i, nil))
		if _, text := read(t, s, i); text != key || s.Label(i) != want[key] {
			t.Errorf("%s: %q, label %d, want %d", key, text, s.Label(i), want[key])
		}
	}
	none := openS(t, ShardsConfig{Shards: []string{dir + "/s-*.tar"}, Labels: LabelsOff})
	if none.Label(0) != -1 || none.Classes() != nil {
		t.Errorf("without labels: %d, %q", none.Label(0), none.Classes())
	}
}

func TestArchivesWithoutDirectoriesHaveNoClasses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	write(t, file, string(tarOf(t, tar.FormatPAX, pairs(0, 3)...)))
	_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir(), Labels: LabelsOfDirectory})
	if err == nil || !strings.Contains(err.Error(), "source.labels: no member lies in a directory") {
		t.Errorf("got %v", err)
	}
}

// The classes are in the header of the index: to open shards that were opened before, no sample's name is looked at, however many there
// are. A shard with more directories than the header has room for is looked through instead.
func TestClassesAreKnownWithoutLookingAtSamples(t *testing.T) {
	long := strings.Repeat("d", 200)
	for _, c := range []struct {
		n      int
		looked bool
	}{{100, false}, {maxDirBytes / 200, true}} {
		var parts []part
		var want []string
		for i := range c.n {
			dir := fmt.Sprintf("%s%05d", long, i)
			want = append(want, dir)
			parts = append(parts, part{dir + "/1.jpg", "p"}, part{dir + "/2.jpg", "p"})
		}
		file, indexes := filepath.Join(t.TempDir(), "x.tar"), t.TempDir()
		write(t, file, string(tarOf(t, tar.FormatPAX, parts...)))
		for round := range 2 { // the first makes the index
			s := openS(t, ShardsConfig{Shards: []string{file}, IndexDir: indexes, Labels: LabelsOfDirectory})
			if !slices.Equal(s.Classes(), want) {
				t.Fatalf("%d directories, round %d: got %d classes", c.n, round, len(s.Classes()))
			}
			looked := false
			for i := range s.(*shards).all[0].index.content.Load().checked {
				looked = looked || s.(*shards).all[0].index.content.Load().checked[i].Load() != 0
			}
			if looked != c.looked {
				t.Errorf("%d directories, round %d: samples looked at: %v, want %v", c.n, round, looked, c.looked)
			}
			if i := s.Len() - 1; s.Label(i) != int64(c.n-1) {
				t.Errorf("sample %d: label %d", i, s.Label(i))
			}
		}
	}
}
