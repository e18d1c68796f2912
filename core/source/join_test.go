package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	j := Join(parts)
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
