package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
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

// Names that Hugging Face's datasets writes into Parquet for the numbers of a column are the classes, in their own order; a state of the same files without
// them fits. Where files say different things, or labels are others, numbers have no names, and it is said why.
func TestParquetMayNameItsClasses(t *testing.T) {
	type row struct {
		Image []byte `parquet:"image"`
		Label int64  `parquet:"label"`
		Fine  int64  `parquet:"fine"`
	}
	about := func(features string) string {
		return `{"info": {"features": {"image": {"_type": "Image"}, ` + features + `}}}`
	}
	pets := about(`"label": {"names": ["dog", "cat"], "_type": "ClassLabel"}, "fine": {"dtype": "int64", "_type": "Value"}`)
	classes := []string{"dog", "cat"}
	none := "labels are numbers without names: the files have "
	for what, c := range map[string]struct {
		says   []string // of each file
		labels []int64
		config ShardsConfig
		want   []string
		note   string
	}{
		"both":              {[]string{pets, pets}, []int64{0, 1, 1, 0}, ShardsConfig{}, classes, ""},
		"without a label":   {[]string{pets, pets}, []int64{0, -1, 1, 0}, ShardsConfig{}, classes, ""},
		"one only":          {[]string{pets, ""}, []int64{0, 1, 1, 0}, ShardsConfig{}, nil, none + "different names for them (ClassLabel)"},
		"another order":     {[]string{pets, about(`"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}`)}, []int64{0, 1, 1, 0}, ShardsConfig{}, nil, none + "different names"},
		"label beyond":      {[]string{pets, pets}, []int64{0, 1, 2, 0}, ShardsConfig{}, nil, none + "names for 0 to 1 (ClassLabel), and labels from 0 to 2"},
		"label below":       {[]string{pets, pets}, []int64{0, 1, -2, 0}, ShardsConfig{}, nil, none + "names for 0 to 1 (ClassLabel), and labels from -2 to 1"},
		"another column":    {[]string{pets, pets}, []int64{0, 1, 1, 0}, ShardsConfig{Label: "fine"}, nil, ""},
		"no labels":         {[]string{pets, pets}, []int64{0, 1, 1, 0}, ShardsConfig{Labels: LabelsOff}, nil, ""},
		"twice the same":    {[]string{about(`"label": {"names": ["a", "a"], "_type": "ClassLabel"}`)}, []int64{0, 1}, ShardsConfig{}, nil, ""},
		"no list":           {[]string{about(`"label": {"names": {"0": "a"}, "_type": "ClassLabel"}`)}, []int64{0, 1}, ShardsConfig{}, nil, ""},
		"no features":       {[]string{`{"info": [1]}`}, []int64{0, 1}, ShardsConfig{}, nil, ""},
		"no JSON":           {[]string{`{`}, []int64{0, 1}, ShardsConfig{}, nil, ""},
		"nothing":           {[]string{""}, []int64{0, 1}, ShardsConfig{}, nil, ""},
		"names of the text": {[]string{about(`"label": {"names": ["a"], "_type": "ClassLabel"}`)}, []int64{7, 8}, ShardsConfig{Labels: LabelsOfNames}, []string{"7", "8"}, ""},
	} {
		dir := t.TempDir()
		for k, says := range c.says {
			rows := []row{{[]byte("a"), c.labels[2*k], 5}, {[]byte("b"), c.labels[2*k+1], 5}}
			var options []parquet.WriterOption
			if says != "" {
				options = append(options, parquet.KeyValueMetadata("huggingface", says))
			}
			writeParquet(t, fmt.Sprintf("%s/%d.parquet", dir, k), rows, 2, options...)
		}
		c.config.Shards = []string{dir + "/*.parquet"}
		opened, err := OpenParquet(background, c.config)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		s := opened.(*parquetShards)
		note := strings.Join(s.Notes(), "; ")
		if !slices.Equal(s.Classes(), c.want) || !strings.HasPrefix(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%s: got %q and %q, want %q and %q", what, s.Classes(), note, c.want, c.note)
		}
		named, _ := s.Fingerprint()
		s.said = nil
		if unnamed, _ := s.Fingerprint(); named != unnamed {
			t.Errorf("%s: with names of its classes it is another data set", what)
		}
		must(t, s.Close())
	}
}
