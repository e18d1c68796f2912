package source

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func join(t *testing.T, parts ...Source) Source {
	t.Helper()
	j, err := Join(parts)
	must(t, err)
	return j
}

// tables makes two tables, of two pictures each, with a column each under the same name.
func joinedTables(t *testing.T) Source {
	t.Helper()
	var parts []Source
	for _, name := range []string{"x", "y"} {
		dir := t.TempDir()
		for _, file := range []string{name + "0.jpg", name + "1.jpg"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("bytes of "+file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		list := "path,label,score\n" + name + "0.jpg,0,0.5\n" + name + "1.jpg,1," + map[string]string{"x": "7", "y": "9"}[name] + "\n" + name + "2.jpg,2,3\n"
		if err := os.WriteFile(filepath.Join(dir, "list.csv"), []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := OpenList(ListConfig{File: filepath.Join(dir, "list.csv"), Columns: []Column{{Name: "score", Type: Float64}}})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, s)
	}
	j := join(t, parts...)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func TestJoinedSourcesStandOneBehindTheOther(t *testing.T) {
	j := joinedTables(t)
	var got []string
	var b Buffer
	for i := range j.Len() {
		if i%3 == 2 {
			continue // a file that is not there
		}
		if err := j.Read(context.Background(), i, &b); err != nil {
			t.Fatal(err)
		}
		got = append(got, string(j.Key(i, nil))+":"+string(b.Bytes()))
	}
	if want := "x0.jpg:bytes of x0.jpg x1.jpg:bytes of x1.jpg y0.jpg:bytes of y0.jpg y1.jpg:bytes of y1.jpg"; strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	if j.Label(1) != 1 || j.Label(3) != 0 || j.Label(5) != 2 {
		t.Errorf("labels %d %d %d, want each part's own", j.Label(1), j.Label(3), j.Label(5))
	}
	score, part := j.(Knowing).Known("score"), j.(Knowing).Known("part")
	if score(1) != 7.0 || score(4) != 9.0 || part(2) != int64(0) || part(3) != int64(1) || j.(Knowing).Known("nothing") != nil {
		t.Errorf("scores %v %v, parts %v %v", score(1), score(4), part(2), part(3))
	}
	if got := j.(Sharded).Shards(); !slices.Equal(got, []int64{0, 3}) {
		t.Errorf("shards %v, want a part to be one", got)
	}
}

func TestAJoinedSamplesFaultNamesItsPlaceInTheWhole(t *testing.T) {
	j := joinedTables(t)
	var b Buffer
	err := j.Read(context.Background(), 5, &b)
	var bad *Error
	if !errors.As(err, &bad) || bad.Index != 5 || bad.Key != "y2.jpg" || bad.Cause != Missing {
		t.Fatalf("got %v, want sample 5, y2.jpg, missing", err)
	}
}

// classed is a folder with a picture in each of these class directories; "." is the folder itself.
func classed(t *testing.T, classes ...string) Source {
	t.Helper()
	dir := t.TempDir()
	for _, c := range classes {
		write(t, filepath.Join(dir, c, "1.jpg"), c)
	}
	s, err := OpenFolder(FolderConfig{Dir: dir, Labels: true})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// numbered is a list of one sample with a label.
func numbered(t *testing.T, label string) Source {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "1.jpg"), "x")
	write(t, filepath.Join(dir, "l.tsv"), "1.jpg\t"+label+"\n")
	return openL(t, ListConfig{File: filepath.Join(dir, "l.tsv")})
}

// In a whole a label has one meaning: the place of the class among the names of all parts.
func TestClassesOfPartsAreUnitedByName(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.tar")
	write(t, archive, string(tarOf(t, tar.FormatPAX, part{"a.jpg", "x"}, part{"b.jpg", "x"})))
	plain := func() Source { return openS(t, ShardsConfig{Shards: []string{archive}}) }
	archive2 := filepath.Join(t.TempDir(), "d.tar")
	write(t, archive2, string(tarOf(t, tar.FormatPAX, part{"w/a.jpg", "x"}, part{"z/b.jpg", "x"})))
	byMember := openS(t, ShardsConfig{Shards: []string{archive2}, Labels: LabelsOfDirectory})
	for name, c := range map[string]struct {
		parts   []Source
		classes []string
		labels  []int64
	}{
		"the same":              {[]Source{classed(t, "x", "y"), classed(t, "x", "y")}, []string{"x", "y"}, []int64{0, 1, 0, 1}},
		"others":                {[]Source{classed(t, "x", "y"), classed(t, "y", "z")}, []string{"x", "y", "z"}, []int64{0, 1, 1, 2}},
		"others first":          {[]Source{classed(t, "m"), classed(t, "a"), classed(t, "m")}, []string{"a", "m"}, []int64{1, 0, 1}},
		"more":                  {[]Source{classed(t, "a"), classed(t, "a", "b")}, []string{"a", "b"}, []int64{0, 0, 1}},
		"of members":            {[]Source{classed(t, "x"), byMember}, []string{"w", "x", "z"}, []int64{1, 0, 2}},
		"none in one":           {[]Source{classed(t, "x", "y"), classed(t, "."), plain(), classed(t, "z")}, []string{"x", "y", "z"}, []int64{0, 1, -1, -1, -1, 2}},
		"some without, guarded": {[]Source{classed(t, ".", "b"), Guard(classed(t, "."), GuardConfig{Timeout: time.Minute, Stuck: 2}), classed(t, "a")}, []string{"a", "b"}, []int64{-1, 1, -1, 0}},
		"none":                  {[]Source{classed(t, "."), plain()}, nil, []int64{-1, -1, -1}},
		"numbers beside names":  {[]Source{classed(t, "x", "y"), numbered(t, "1")}, nil, []int64{0, 1, 1}},
		"a whole of wholes":     {[]Source{join(t, classed(t, "."), plain()), classed(t, "b"), join(t, classed(t, "a"), classed(t, "b"))}, []string{"a", "b"}, []int64{-1, -1, -1, 1, 0, 1}},
	} {
		j := join(t, c.parts...)
		var labels []int64
		for i := range j.Len() {
			labels = append(labels, j.Label(i))
		}
		if !slices.Equal(labels, c.labels) || !slices.Equal(j.Classes(), c.classes) {
			t.Errorf("%s: classes %q, labels %v; want %q, %v", name, j.Classes(), labels, c.classes, c.labels)
		}
	}
}

func TestNumbersBesideDifferentClassesAreRefused(t *testing.T) {
	_, err := Join([]Source{classed(t, "."), classed(t, "x", "y"), classed(t, "x", "z"), numbered(t, "1")})
	const want = `parts 1 and 2 have different classes (label 1 is "y" and "z"), and the labels of part 3 are numbers that do not say which class they mean; want `
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	_, err = Join([]Source{classed(t, "x"), classed(t, "x", "z"), numbered(t, "1")})
	if err == nil || !strings.Contains(err.Error(), `label 1 is nothing and "z"`) {
		t.Errorf("got %v", err)
	}
}
