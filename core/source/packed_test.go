package source

import (
	"math"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// The lengths of lists are known without reading them, wherever they lie; those of other columns are not.
func TestLengthsOfListsAreKnown(t *testing.T) { inMemoryAndOnDisk(t, testLengthsOfListsAreKnown) }

func testLengthsOfListsAreKnown(t *testing.T) {
	files, want := threeFiles(t)
	s := openTokens(t, files...)
	ids, mask := s.Lengths("ids"), Measured(outer{s}).Lengths("mask")
	for i := range want {
		if ids(int64(i)) != int64(len(want[i].Ids)) || mask(int64(i)) != int64(len(want[i].Mask)) {
			t.Fatalf("row %d: lengths %d and %d, want %d and %d", i, ids(int64(i)), mask(int64(i)), len(want[i].Ids), len(want[i].Mask))
		}
	}
	for _, name := range []string{"loss", "text", "absent"} { // of one shape; no list; not there
		if s.Lengths(name) != nil {
			t.Errorf("lengths of %q are known", name)
		}
	}
	if (outer{}).Lengths("ids") != nil {
		t.Error("nothing knows lengths")
	}
}

// onePlan has some documents of a source in one row.
type onePlan []int64

func (p onePlan) Rows() int64                          { return 1 }
func (p onePlan) Pieces(int64) (first, end int64)      { return 0, int64(len(p)) }
func (p onePlan) Piece(k int64) (document, from int64) { return p[k], 0 }

// A row is as told by its plan, beside lists in memory and on a disk, with a pad of each column's own.
func TestRowsOfDocumentsOfParquet(t *testing.T) { inMemoryAndOnDisk(t, testRowsOfDocumentsOfParquet) }

func testRowsOfDocumentsOfParquet(t *testing.T) {
	type documents struct {
		Ids  []int64   `parquet:"ids,list"`
		Loss []float32 `parquet:"loss,list"`
	}
	file := t.TempDir() + "/a.parquet"
	writeParquet(t, file, []documents{{[]int64{1, 2}, []float32{0.5, 1}}, {[]int64{}, []float32{}}, {[]int64{3}, []float32{2}}}, 2)
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: []Column{listOf("ids", tensor.I64, 9), listOf("loss", tensor.F32, 9)}})
	must(t, err)
	lengths := s.(Measured).Lengths("ids")
	config := PackConfig{Plan: onePlan{0, 2}, Length: 5, Lengths: lengths, Segments: "seg", Positions: "pos", Pads: map[string][]byte{"ids": []byte("-9"), "loss": []byte("0.25")}}
	for text, name := range map[string]string{"-1e300": "loss", "0.5": "ids"} { // what the column does not hold
		bad := config
		bad.Pads = map[string][]byte{name: []byte(text)}
		if _, err := Pack(s, bad); err == nil {
			t.Errorf("%s is a pad of %s", text, name)
		}
	}
	large := config
	large.Length = maxRowBytes/8 + 1
	if _, err := Pack(s, large); err == nil || !strings.Contains(err.Error(), `source.columns[0] ("ids"): got rows of more than 1073741824 bytes`) {
		t.Errorf("rows of %d: %v", large.Length, err)
	}
	p, err := Pack(s, config)
	must(t, err)
	defer func() { must(t, p.Close()) }()
	b, _ := read(t, p, 0)
	for c, want := range [][]float64{{1, 2, 3, -9, -9}, {0.5, 1, 2, 0.25, 0.25}, {1, 1, 2, 0, 0}, {0, 1, 0, 0, 0}} {
		column := p.(Columnar).Columns()[c]
		var got []float64
		switch value := b.Value(c); column.DType {
		case tensor.I32:
			for k := range 5 {
				got = append(got, float64(value[4*k]))
			}
		default:
			got = elementsOf(column.DType, value)
		}
		for k := range want {
			if got[k] != want[k] || math.IsNaN(got[k]) || len(got) != 5 {
				t.Errorf("column %q: got %v, want %v", column.Name, got, want)
			}
		}
	}
	if key := string(p.Key(0, nil)); key != "a.parquet:0+1" || p.Label(0) != -1 || !unlabelled(p) {
		t.Errorf("key %q, label %d", key, p.Label(0))
	}
}
