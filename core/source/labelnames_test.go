package source

import (
	"slices"
	"strings"
	"testing"
)

// Labels of a table that are names are the names' places among them, sorted; a row without one has -1 where nobody asked for the column.
func TestLabelsOfTablesMayBeNames(t *testing.T) {
	dir := tree(t, "a.jpg", "b.jpg", "c.jpg", "d.jpg")
	write(t, dir+"/t.csv", "path,label\na.jpg,zumba\nb.jpg, juggling balls \nc.jpg,\nd.jpg,zumba\n")
	write(t, dir+"/t.tsv", "path\tlabel\na.jpg\tzumba\nb.jpg\tjuggling balls\nc.jpg\t\nd.jpg\tzumba\n")
	write(t, dir+"/t.jsonl", `{"path": "a.jpg", "label": "zumba"}
{"path": "b.jpg", "label": "juggling balls"}
{"path": "c.jpg"}
{"path": "d.jpg", "label": "zumba"}
`)
	writeParquet(t, dir+"/t.parquet", []struct {
		Path  string `parquet:"path"`
		Label string `parquet:"label"`
	}{{"a.jpg", "zumba"}, {"b.jpg", "juggling balls"}, {"c.jpg", ""}, {"d.jpg", "zumba"}}, 3)
	var same Fingerprint
	for _, name := range []string{"t.csv", "t.tsv", "t.jsonl", "t.parquet"} {
		c := ListConfig{File: dir + "/" + name, Heading: name == "t.tsv", LabelNames: true}
		s, err := OpenList(c)
		must(t, err)
		if got := []int64{s.Label(0), s.Label(1), s.Label(2), s.Label(3)}; !slices.Equal(got, []int64{1, 0, -1, 1}) || !slices.Equal(s.Classes(), []string{"juggling balls", "zumba"}) {
			t.Errorf("%s: got %v of %q", name, got, s.Classes())
		}
		print, _ := s.(Fingerprinted).Fingerprint()
		if same == (Fingerprint{}) {
			same = print
		}
		if print != same {
			t.Errorf("%s: another data set than t.csv", name)
		}
		must(t, s.Close())
		c.Label = "label"
		if _, err := OpenList(c); err == nil || !strings.Contains(err.Error(), "label: got nothing, want the name of a class") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	write(t, dir+"/other.csv", "path,label\na.jpg,zumba\nb.jpg,juggling\nc.jpg,\nd.jpg,zumba\n")
	s, err := OpenList(ListConfig{File: dir + "/other.csv", LabelNames: true})
	must(t, err)
	defer s.Close()
	if other, _ := s.(Fingerprinted).Fingerprint(); other.Names != same.Names || other.Labels == same.Labels {
		t.Error("the same labels of other classes are the same data set")
	}
}

// Names of Parquet with pictures in a column are those of all files together, whichever is read first.
func TestLabelsOfParquetMayBeNames(t *testing.T) {
	type row struct {
		Image []byte `parquet:"image"`
		Label string `parquet:"label"`
	}
	dir := t.TempDir()
	writeParquet(t, dir+"/a.parquet", []row{{[]byte("a"), "zumba"}, {[]byte("b"), "juggling"}, {[]byte("c"), ""}}, 2)
	writeParquet(t, dir+"/b.parquet", []row{{[]byte("d"), "abseiling"}, {[]byte("e"), "zumba"}}, 2)
	c := ShardsConfig{Shards: []string{dir + "/*.parquet"}, Labels: LabelsOfNames}
	s, err := OpenParquet(background, c)
	must(t, err)
	defer s.Close()
	var got []int64
	for i := range s.Len() {
		got = append(got, s.Label(i))
	}
	if want := []string{"abseiling", "juggling", "zumba"}; !slices.Equal(got, []int64{2, 1, -1, 0, 2}) || !slices.Equal(s.Classes(), want) {
		t.Errorf("got %v of %q, want %q", got, s.Classes(), want)
	}
	_, err = OpenParquet(background, ShardsConfig{Shards: c.Shards})
	if want := `row 0: label: got "zumba", want a whole number; source.label names another column, and source.labels: none leaves labels out; source.labels: names`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A table that has no column of names is refused, and one whose labels are names without a word is told of them.
func TestLabelsThatAreNoNamesAreRefused(t *testing.T) {
	dir := tree(t, "a.jpg")
	write(t, dir+"/none.csv", "path,class\na.jpg,zumba\n")
	write(t, dir+"/t.csv", "path,label\na.jpg,zumba\n")
	for want, c := range map[string]ListConfig{
		`no column "label"; the columns are path, class`:                                               {File: dir + "/none.csv", LabelNames: true},
		`label: got "zumba", want a whole number; source.label names another column`:                   {File: dir + "/t.csv"},
		`source.labels: none leaves labels out; source.labels: names takes them as names of classes`:   {File: dir + "/t.csv"},
		`label: got "zumba", want a whole number; source.labels: names takes them as names of classes`: {File: dir + "/t.csv", Label: "label"},
	} {
		if _, err := OpenList(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	names := newLabelNames()
	names.all = make([]string, maxClasses)
	if _, err := names.number([]byte("one more")); err == nil || !strings.Contains(err.Error(), "got more than 1048576 names, want one for each class") {
		t.Errorf("got %v", err)
	}
}
