package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spdl/spdl/core/tensor"
)

const (
	maxPacked   = 1 << 24 // elements of a row of documents
	maxElements = 1 << 24 // of one document, where max_length does not say it
)

// The values of Packing.Strategy and Packing.Long.
const (
	BestFit  = "best_fit"
	Wrapped  = "wrapped"
	Split    = "split"
	Truncate = "truncate"
)

// SegmentIDs and PositionIDs are the fields that say of each element of a row which of its documents it is of, and how far behind its beginning.
const (
	SegmentIDs  = "segment_ids"
	PositionIDs = "position_ids"
)

// Packing makes samples of several documents: rows of one length.
type Packing struct {
	Length   int64
	Strategy string
	Long     string // what becomes of a document that is longer; "" with Wrapped, which cuts at the end of every row
	By       string // the column that says how long documents are; "": their lists do
}

// fields are those that a batch has whatever its columns are, of so many others.
func (p *Packing) fields(others []string) []string {
	if p == nil {
		return others
	}
	return append(others, SegmentIDs, PositionIDs)
}

// packing reads the section source.packing.
func (d *decoder) packing(s *section, src *Source) {
	p := &Packing{Strategy: BestFit}
	sec := d.below(s, "packing")
	whole(&sec, "length", &p.Length, 1, maxPacked)
	choice(&sec, "strategy", &p.Strategy, BestFit, Wrapped)
	choice(&sec, "long", &p.Long, Refuse, Split, Truncate)
	sec.text("by", &p.By)
	switch {
	case d.err != nil:
	case p.Length == 0:
		s.fail("packing", "length is missing, want the tokens of a row, such as length: 2048")
	case p.Strategy == Wrapped && p.Long != "":
		sec.fail("long", "given with strategy: wrapped, which cuts a document wherever a row is full; leave it out")
	case p.Strategy == BestFit && p.Long == "":
		p.Long = Refuse
	}
	src.Packing = p
}

// pad reads what is in rows of documents where there is none, as the text of a number.
func (s *section) pad(c *Column, packed bool) {
	if !s.has("pad") {
		return
	}
	n, shown := s.values["pad"], join(s.shown, "pad")
	switch t := c.DType; {
	case !packed:
		s.fail("pad", "goes with source.packing; other rows have zeros behind them")
	case c.Type != TypeList && c.Type != TypeNPY:
		s.fail("pad", "given for type %s; it goes with type: list and type: npy", c.Type)
	case t == 0 || t.Code() == tensor.CodeFloat:
		if v, ok := s.d.number(n, shown, -math.MaxFloat32, math.MaxFloat32); ok {
			c.Pad = strconv.AppendFloat(nil, v, 'f', -1, 64)
		}
	default:
		low, high := int64(0), int64(math.MaxInt64)
		if t.Code() == tensor.CodeInt {
			low, high = math.MinInt64>>(64-t.Bits()), math.MaxInt64>>(64-t.Bits())
		} else if t.Bits() < 64 {
			high = 1<<t.Bits() - 1
		}
		if v, ok := s.d.whole(n, shown, low, high); ok {
			c.Pad = strconv.AppendInt(nil, v, 10)
		}
	}
}

// openEnded gives a column of documents the length that it need not say.
func (s *section) openEnded(c *Column) {
	if !s.has("max_length") && (c.Type == TypeList || c.Type == TypeNPY) {
		c.MaxLength = maxElements
	}
}

// checkPacking holds rows of documents against what else a description says.
func (d *decoder) checkPacking(s *Spec) {
	p := s.Source.Packing
	if p == nil {
		return
	}
	const at, own = "source.packing", "given beside source.packing, whose rows are made of several documents; leave it out"
	given := func(key string) bool { return d.pos[key].line > 0 }
	switch kinds := s.Order.Kinds(); {
	case s.Source.Host.Samples > 0:
		d.failAt(at, "given with source.host: how long your program's samples are is not known before they come; write the documents as Parquet, or pack them in your program")
	case s.Source.Arrays != nil:
		d.failAt(at, "given with source.arrays, whose samples are windows of one length already: their window says how long")
	case len(s.Media()) > 0:
		d.failAt(at, "given with %s; rows of documents are made of columns of lists alone, named in source.columns", s.Media()[0].Path())
	case s.BadSample.Policy == Substitute:
		d.failAt("bad_sample.policy", "got substitute with source.packing, in whose rows a document has no neighbour of its length; want skip (what is behind it moves up), mask (its place is padding) or fail")
	case s.Cache.Dir != "":
		d.failAt("cache.dir", own)
	case s.Cache.RowsBytes > 0:
		d.failAt("cache.rows_bytes", own)
	case s.Source.Label != "" && given("source.label"):
		d.failAt("source.label", own)
	case s.Source.ByMember == LabelsNames:
		d.failAt("source.labels", own)
	case len(kinds) > 0:
		d.failAt("order."+kinds[0], "got it with source.packing, whose rows are of one length and have no columns but their lists; leave one of them out")
	}
	d.checkDocuments(s.Source.Columns, p.By)
}

// checkDocuments refuses columns that rows of documents cannot have.
func (d *decoder) checkDocuments(columns []Column, by string) {
	lists := 0
	for i, c := range columns {
		at := fmt.Sprintf("source.columns[%d]", i)
		switch {
		case c.Name == by && c.Type != TypeI64:
			d.failAt(at, "got type %s of column %q, which source.packing.by names, want i64: how many elements a document has", c.Type, c.Name)
		case c.Name == by:
		case c.Type != TypeList && c.Type != TypeNPY:
			d.failAt(at, "column %q of type %s holds one value a document, and a row of source.packing is of several; leave it out, or write it as a list as long as the document", c.Name, c.Type)
		case c.Padded:
			d.failAt(at+".padded", "given beside source.packing, whose rows are all of one length; leave it out")
		default:
			lists++
		}
	}
	switch {
	case lists == 0:
		d.failAt("source.packing", "given without a list to pack; want one in source.columns, such as {name: input_ids, type: list, dtype: i32}")
	case by != "" && !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == by }):
		d.failAt("source.packing.by", "got %q, want the name of one of source.columns of type i64, such as {name: %s, type: i64}", by, by)
	}
}

type canonicalPacking struct {
	Length   int64  `json:"length"`
	Strategy string `json:"strategy"`
	Long     string `json:"long,omitempty"`
	By       string `json:"by,omitempty"`
}
