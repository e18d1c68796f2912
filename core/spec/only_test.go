package spec

import (
	"slices"
	"strings"
	"testing"
)

// Which samples there are a file, a range or a list says, of the whole source or of a part of a mixture; a ring may have others of the same source.
func TestOnlySaysWhichSamplesThereAre(t *testing.T) {
	for text, want := range map[string]Only{
		"'3:9'": {From: 3, To: 9}, "':9'": {To: 9}, "'3:'": {From: 3, To: -1}, "':'": {To: -1}, "[4, 2, 4]": {Numbers: Numbers{Given: []int64{4, 2, 4}}, To: -1}, "a.npy": {Numbers: Numbers{File: "/data/a.npy", written: "a.npy"}, To: -1},
	} {
		s, err := Parse([]byte(small+"source: {folder: p, only: "+text+"}"), "/data/x.yaml")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := s.Source.Only; got.From != want.From || got.To != want.To || !slices.Equal(got.Given, want.Given) || got.File != want.File {
			t.Errorf("%s: got %+v", text, *got)
		}
	}
	s := parse(t, "source: {mix: [{folder: p, only: ':5'}, {folder: q}]}\n"+small)
	if s.Source.Mix[0].Only.To != 5 || s.Source.Mix[1].Only != nil || s.Source.Only != nil {
		t.Errorf("got %+v", s.Source.Mix)
	}
	s = parse(t, small+"source: {folder: p}\nrings: {train: {source: {only: ':5'}}, val: {source: {only: '5:'}}}")
	if !strings.HasSuffix(s.Rings[0].Source.Folder, "p") || s.Rings[0].Source.Only.To != 5 || s.Rings[1].Source.Only.From != 5 {
		t.Errorf("got %+v, %+v", s.Rings[0].Source.Only, s.Rings[1].Source.Only)
	}
}

// The hash tells which samples there are, and of a file only that one says so: what is in it the engine adds.
func TestTheHashTellsWhichSamplesThereAre(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, only := range []string{"", ", only: ':'", ", only: ':5'", ", only: '1:5'", ", only: [1, 2]", ", only: [2, 1]", ", only: a.npy"} {
		h := parse(t, small+"source: {folder: p"+only+"}").SourceHash()
		if other, twice := seen[h]; twice {
			t.Errorf("%q and %q have one hash", only, other)
		}
		seen[h] = only
	}
	if _, known := seen[parse(t, small+"source: {folder: p, only: elsewhere/b.npy}").SourceHash()]; !known {
		t.Error("where the file lies changes the hash")
	}
}

func TestSamplesThatCannotBeChosen(t *testing.T) {
	for source, want := range map[string]string{
		"{folder: p, only: '5:5'}":             "source.only: got 5:5, which is no sample; want FROM:TO, the numbers from FROM up to TO, without TO itself",
		"{folder: p, only: '5:2'}":             "source.only: got 5:2, which is no sample",
		"{folder: p, only: []}":                "source.only: got none, want one at least",
		"{folder: p, only: [1, -2]}":           "source.only[1]: got -2, want a whole number",
		"{folder: p, only: 'https://h/a.npy'}": "source.only: got a URL, want a local file; copy it to a disk",
		"{host: {samples: 5}, only: [1]}":      "source.only: given with host, whose samples your program brings by their numbers; choose them there",
		"{mix: [{folder: p}], only: [1]}":      "source.only: given beside mix, and is about one data set; it belongs into each entry of mix that it goes with",
		"{mix: [{folder: p, only: [1, x]}]}":   `source.mix[0].only[1]: got text "x", want a whole number`,
		"{folder: p, only: 3}":                 `source.only: got 3, want FROM:TO such as ":45000", the path of a file of numbers, or a list of them`,
		"{folder: p, only: {from: 3}}":         "source.only: got a mapping",
	} {
		if _, err := Parse([]byte(small+"source: "+source), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
}
