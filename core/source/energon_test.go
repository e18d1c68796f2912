package source

import (
	"archive/tar"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"go.yaml.in/yaml/v3"
)

// energonSet is a data set of four shards of two samples each, as `energon prepare` leaves it.
func energonSet(t *testing.T, list, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range 4 {
		write(t, filepath.Join(dir, fmt.Sprintf("shards/s_%03d.tar", i)), string(tarOf(t, tar.FormatUSTAR, pairs(2*i, 2*i+2)...)))
	}
	write(t, filepath.Join(dir, energonDir, list), text)
	write(t, filepath.Join(dir, energonDir, ".info.json"), `{"shard_counts": {"shards/s_000.tar": 2}}`)
	return dir
}

const (
	splitYAML = "exclude: [shards/s_001.tar]\nsplit_parts:\n  train:\n  - shards/s_{000..002}.tar\n  val: [shards/s_003.tar]\n  test: []\n"
	splitJSON = `{"split_parts": {"train": ["shards/s_002.tar", "shards/s_000.tar"], "val": ["shards/s_003.tar"]}, "exclude": []}`
)

// The shards of a split are read in the order in which its list has them, less those that are left out, from a directory, by the list's name, and from a server.
func TestASplitOfEnergonIsItsShards(t *testing.T) {
	yaml, json, own := energonSet(t, "split.yaml", splitYAML), energonSet(t, "split.json", splitJSON), energonSet(t, "mine.yaml", splitYAML)
	server := httptest.NewServer(http.FileServer(http.Dir(yaml)))
	defer server.Close()
	client, err := store.New(store.Options{})
	must(t, err)
	defer client.Close()
	for _, c := range []struct{ shards, split, want string }{
		{yaml, "", "00000 00001 00004 00005"}, {yaml, "train", "00000 00001 00004 00005"}, {yaml, "val", "00006 00007"},
		{json, "", "00004 00005 00000 00001"}, {json, "val", "00006 00007"},
		{filepath.Join(own, energonDir, "mine.yaml"), "val", "00006 00007"}, {filepath.Join(yaml, energonDir, "split.yaml"), "", "00000 00001 00004 00005"},
		{server.URL + "/" + energonDir + "/split.yaml", "", "00000 00001 00004 00005"}, {server.URL + "/" + energonDir + "/split.yaml", "val", "00006 00007"},
	} {
		s := openS(t, ShardsConfig{Shards: []string{c.shards}, Split: c.split, Store: client})
		var keys []string
		for i := range s.Len() {
			_, content := read(t, s, i)
			key := strings.TrimSuffix(filepath.Base(string(s.Key(i, nil))), ".jpg")
			keys = append(keys, key)
			if want := "picture " + strings.TrimLeft(key[:4], "0") + key[4:]; content != want {
				t.Errorf("%s, %q: sample %d is %q, want %q", c.shards, c.split, i, content, want)
			}
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%s, %q: got %s, want %s", c.shards, c.split, got, c.want)
		}
	}
	for path, want := range map[string]string{yaml: "Energon", json: "Energon", filepath.Join(own, energonDir, "mine.yaml"): "Energon", own: "", filepath.Join(yaml, "shards"): ""} {
		if got := CatalogueFormat(path); got != want || ListsShards(path) != (want != "") {
			t.Errorf("%s: got %q", path, got)
		}
	}
}

// What a list of splits says that is not so, or that is not asked for rightly, is refused with where and what.
func TestSplitsThatAreNotSoAreRefused(t *testing.T) {
	edit := func(old, new string) string { return strings.Replace(splitYAML, old, new, 1) }
	for _, c := range []struct{ text, split, want string }{
		{splitYAML, "dev", `split.yaml": it has no split "dev"; want source.split: one of test, train, val`},
		{edit("train:", "training:"), "", `it has no split "train"; want source.split: one of test, training, val`},
		{splitYAML, "test", `no samples: its split "test" has no shard that is not left out`},
		{edit("split_parts", "parts"), "", "it has no split_parts, as `energon prepare` writes them"},
		{"split_parts: [a", "", "no list of splits of Megatron-Energon, or damaged: yaml: "},
		{"split_parts: {train: {a: b}}", "", "or damaged: yaml: "},
		{edit("s_001.tar]", "s_002.tar/00004]"), "", `exclude has "shards/s_002.tar/00004", a sample of a shard; whole shards alone are left out here`},
		{edit("{000..002}", "{000..}"), "", `split_parts.train: pattern "shards/s_{000..}.tar": got {000..}, want two whole numbers`},
		{edit("exclude: [", "exclude: ['{', "), "", `exclude: pattern "{": got '{' without its own '}'`},
		{edit("- shards", "- ../shards"), "", `split_parts.train: "../shards/s_000.tar": member "../shards/s_000.tar": the name leaves the archive`},
		{edit("{000..002}", "004"), "", `s_004.tar": no such file or directory`},
	} {
		_, err := OpenShards(background, ShardsConfig{Shards: []string{energonSet(t, "split.yaml", c.text)}, Split: c.split, IndexDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrLacking) != strings.Contains(c.want, "it has no split \"") {
			t.Errorf("%.60q, %q: got %v, want %q", c.text, c.split, err, c.want)
		}
	}
	_, err := appendEnergon(make([]string, maxShards), []byte(splitYAML), "train", "d", "")
	if want := fmt.Sprintf(`split_parts.train: "shards/s_000.tar": got more than %d shards`, maxShards); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	whole := energonSet(t, "split.yaml", splitYAML)
	_, err = OpenShards(background, ShardsConfig{Shards: []string{filepath.Join(whole, "shards/s_000.tar")}, Split: "val", IndexDir: t.TempDir()})
	if want := `split: got "val", and none of the shards is a data set that lists its splits`; err == nil || !errors.Is(err, ErrLacking) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if s := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/splits"}, Split: "test"}); s.Len() == 0 {
		t.Error("a saved split is empty")
	}
	_, err = OpenShards(background, ShardsConfig{Shards: []string{"testdata/arrow/splits"}, Split: "val"})
	if want := `it has no split "val"; want source.split: one of train, test`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// FuzzEnergon: whatever a list of splits says, its shards lie below its directory, and none that exclude names is among them.
func FuzzEnergon(f *testing.F) {
	for _, text := range []string{splitYAML, splitJSON, "split_parts: {train: [../a.tar, /b.tar, 'c{1,2}.tar']}", "exclude: &e [a.tar, a.tar/3]\nsplit_parts: {train: *e}", "split_parts: {train: [{}]}", "exclude: {a: b}"} {
		f.Add([]byte(text), "train")
	}
	f.Fuzz(func(t *testing.T, text []byte, split string) {
		names, err := appendEnergon(nil, text, split, "/data/energon", "")
		if err != nil {
			return
		}
		if len(names) == 0 || len(names) > maxShards {
			t.Fatalf("%d shards without an error", len(names))
		}
		var said energonSplits
		must(t, yaml.Unmarshal(text, &said))
		left, err := writtenOut("exclude", said.Exclude)
		must(t, err)
		for _, name := range names {
			if !strings.HasPrefix(name, "/data/energon/") || slices.Contains(left, strings.TrimPrefix(name, "/data/energon/")) {
				t.Fatalf("%q leads to %q, exclude has %q", text, name, left)
			}
		}
	})
}
