package source

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func printOf(t testing.TB, s Source) Fingerprint {
	t.Helper()
	f, ok := s.(Fingerprinted).Fingerprint()
	if !ok || f.Names == 0 || f.Labels == 0 {
		t.Fatalf("%+v %v", f, ok)
	}
	return f
}

// compare wants two sources of equal, or other, names and labels.
func compare(t testing.TB, what string, a, b Source, names, labels bool) {
	t.Helper()
	f, g := printOf(t, a), printOf(t, b)
	if (f.Names == g.Names) != names || (f.Labels == g.Labels) != labels {
		t.Errorf("%s: names equal %v, labels equal %v; want %v, %v", what, f.Names == g.Names, f.Labels == g.Labels, names, labels)
	}
}

// A folder is what it is by the names of its files and classes: neither where it lies nor what its files hold counts.
func TestFingerprintOfAFolder(t *testing.T) {
	c := FolderConfig{Dir: tree(t, "a/1.png", "b/2.png", "b/3.png"), Labels: true}
	base := openF(t, c)
	at := func(labels bool, paths ...string) Source {
		return openF(t, FolderConfig{Dir: tree(t, paths...), Labels: labels})
	}
	compare(t, "elsewhere, with other files beside", base, at(true, "a/1.png", "b/2.png", "b/3.png", "notes.txt"), true, true)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(c.Dir, link))
	write(t, c.Dir+"/a/1.png", "other bytes, and more of them")
	compare(t, "behind a link, with other bytes", base, openF(t, FolderConfig{Dir: link, Labels: true}), true, true)
	compare(t, "a file renamed", base, at(true, "a/1.png", "b/2.png", "b/4.png"), false, true)
	compare(t, "a file moved", base, at(true, "a/1.png", "a/2.png", "b/3.png"), false, true)
	compare(t, "a class renamed", base, at(true, "a/1.png", "c/2.png", "c/3.png"), false, false)
	compare(t, "a file more", base, at(true, "a/1.png", "b/2.png", "b/3.png", "b/4.png"), false, true)
	compare(t, "without labels", base, at(false, "a/1.png", "b/2.png", "b/3.png"), true, false)
	compare(t, "names cut elsewhere", at(true, "a/1.png", "a/22.png"), at(true, "a/11.png", "a/2.png"), false, true)
}

// A list is what it is by its paths and labels, in their order.
func TestFingerprintOfAList(t *testing.T) {
	at := func(text string) Source {
		file := filepath.Join(t.TempDir(), "list.tsv")
		write(t, file, text)
		return openL(t, ListConfig{File: file})
	}
	base := at("1.png\t5\n2.png\t6\n")
	compare(t, "written otherwise", base, at("\ufeff# pictures\r\n1.png\t5\r\n\r\n2.png\t6"), true, true)
	compare(t, "the other way round", base, at("2.png\t6\n1.png\t5\n"), false, false)
	compare(t, "names swapped", base, at("2.png\t5\n1.png\t6\n"), false, true)
	compare(t, "a label changed", base, at("1.png\t5\n2.png\t7\n"), true, false)
	compare(t, "without labels", base, at("1.png\n2.png\n"), true, false)
	var long strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&long, "some/where/%05d.png\t%d\n", i, i)
	}
	compare(t, "a late name", at(long.String()), at(strings.Replace(long.String(), "19000.png", "x9000.png", 1)), false, true)
}

// A table, of whatever form, is what it is by its paths and labels; its other columns do not count.
func TestFingerprintOfATable(t *testing.T) {
	rows := func(edit func(rows []tableRow)) []tableRow {
		all := []tableRow{{Path: "a.png", Label: 3, Width: 7}, {Path: "b.png", Label: 4}, {Path: "c.png", Label: 4}}
		edit(all)
		return all
	}
	base := tablesOf(t, t.TempDir(), rows(func([]tableRow) {}))
	for _, other := range []struct {
		what          string
		edit          func(rows []tableRow)
		names, labels bool
	}{
		{"another width", func(r []tableRow) { r[0].Width = 8 }, true, true},
		{"the other way round", func(r []tableRow) { slices.Reverse(r) }, false, false},
		{"another label", func(r []tableRow) { r[2].Label = 5 }, true, false},
		{"another path", func(r []tableRow) { r[2].Path = "d.png" }, false, true},
	} {
		for k, file := range tablesOf(t, t.TempDir(), rows(other.edit)) {
			compare(t, file+": "+other.what, openL(t, ListConfig{File: base[k]}), openL(t, ListConfig{File: file}), other.names, other.labels)
		}
	}
	compare(t, "csv and jsonl", openL(t, ListConfig{File: base[0]}), openL(t, ListConfig{File: base[1]}), true, true)
	compare(t, "csv and parquet", openL(t, ListConfig{File: base[0]}), openL(t, ListConfig{File: base[2]}), true, true)
}

// Archives are what they are by their base names and what lies where in them, however they are spelt. Nothing of an index is read but its head.
func TestFingerprintOfShards(t *testing.T) {
	write2 := func(first, second []part) string {
		dir := t.TempDir()
		write(t, dir+"/a-0.tar", string(tarOf(t, tar.FormatGNU, first...)))
		write(t, dir+"/a-1.tar", string(tarOf(t, tar.FormatGNU, second...)))
		return dir
	}
	dir := write2(pairs(0, 5), pairs(5, 10))
	at := func(shards ...string) Source { return openS(t, ShardsConfig{Shards: shards}) }
	base := at(dir + "/*.tar")
	compare(t, "braces", base, at(dir+"/a-{0..1}.tar"), true, true)
	compare(t, "one by one", base, at(dir+"/a-0.tar", dir+"/a-1.tar"), true, true)
	compare(t, "elsewhere, later", base, at(write2(pairs(0, 5), pairs(5, 10))+"/*.tar"), true, true)
	compare(t, "the other way round", base, at(dir+"/a-1.tar", dir+"/a-0.tar"), false, true)
	compare(t, "contents swapped", base, at(write2(pairs(5, 10), pairs(0, 5))+"/*.tar"), false, true)
	changed := pairs(5, 10)
	changed[3].content = "0\n"
	compare(t, "a label changed", base, at(write2(pairs(0, 5), changed)+"/*.tar"), false, true)
	changed = pairs(5, 10)
	changed[2].content = strings.ToUpper(changed[2].content)
	compare(t, "other bytes, as many", base, at(write2(pairs(0, 5), changed)+"/*.tar"), true, true)
	compare(t, "the label named", base, openS(t, ShardsConfig{Shards: []string{dir + "/*.tar"}, Label: "cls"}), true, true)
	compare(t, "without labels", base, openS(t, ShardsConfig{Shards: []string{dir + "/*.tar"}, Labels: LabelsOff}), true, false)
	s := at(dir + "/*.tar")
	printOf(t, s)
	for _, sh := range s.(*shards).all {
		if n := checkedBlocks(sh.index); n > 0 {
			t.Errorf("%s: %d blocks of the index were read", sh.name, n)
		}
	}
}

// Parquet files with media are what they are by their base names, sizes, row groups and labels.
func TestFingerprintOfParquetShards(t *testing.T) {
	at := func(rows []pictureRow, group int, name string) Source {
		dir := t.TempDir()
		writeParquet(t, filepath.Join(dir, name), rows, group)
		s, err := OpenParquet(background, ShardsConfig{Shards: []string{dir + "/*.parquet"}})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
	base := at(pictureRows(0, 20), 10, "a.parquet")
	compare(t, "elsewhere", base, at(pictureRows(0, 20), 10, "a.parquet"), true, true)
	compare(t, "another name", base, at(pictureRows(0, 20), 10, "b.parquet"), false, true)
	compare(t, "other rows", base, at(pictureRows(4, 24), 10, "a.parquet"), false, true)
	compare(t, "other groups", base, at(pictureRows(0, 20), 5, "a.parquet"), false, true)
	relabelled := pictureRows(0, 20)
	relabelled[0].Label = 2
	if f, g := printOf(t, base), printOf(t, at(relabelled, 10, "a.parquet")); f.Labels == g.Labels {
		t.Error("another label: labels are equal")
	}
}

// A mixture has the fingerprint of its parts in their order, and what stands around a source that of the source; a program's own source of
// which nothing is known leaves the whole unknown.
func TestFingerprintOfSourcesAroundOthers(t *testing.T) {
	c := FolderConfig{Dir: tree(t, "1.png", "2.png")}
	d := FolderConfig{Dir: tree(t, "1.png", "3.png")}
	a, b := openF(t, c), openF(t, d)
	compare(t, "equal", join(t, a, b), join(t, a, b), true, true)
	compare(t, "other order", join(t, a, b), join(t, b, a), false, true)
	compare(t, "guarded", a, Guard(a, GuardConfig{}), true, true)
	cache, err := OpenCache(CacheConfig{Dir: t.TempDir(), MaxBytes: 1 << 20})
	must(t, err)
	defer cache.Close()
	behind, err := cache.Wrap(a)
	must(t, err)
	compare(t, "cached", a, behind, true, true)
	compare(t, "a program's", &Host{HostConfig: HostConfig{Samples: 4}}, &Host{HostConfig: HostConfig{Samples: 5}}, false, true)
	if f, ok := join(t, a, struct{ Source }{b}).(Fingerprinted).Fingerprint(); ok {
		t.Errorf("got %+v of a source that has none", f)
	}
}

// What knowing the samples adds to opening a million of them.
func BenchmarkFingerprint(b *testing.B) {
	f := &folder{}
	var text strings.Builder
	for i := range 1_000_000 {
		dir := fmt.Sprintf("n%08d/", i/1000)
		must(b, f.add(dir, fmt.Appendf(nil, "n%08d_%06d.jpeg", i/1000, i)))
		fmt.Fprintf(&text, "%sn%08d_%06d.jpeg\t%d\n", dir, i/1000, i, i/1000)
	}
	f.label(true)
	l := &list{text: []byte(text.String())}
	must(b, l.scan(rules{}))
	for name, s := range map[string]Fingerprinted{"folder": f, "list": l} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				_, _ = s.Fingerprint()
			}
		})
	}
}
