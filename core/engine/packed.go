package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
)

// packing is what became of the documents of a source, or of a data set of a mixture.
type packing struct {
	*sampler.Packing
	empty  int64 // documents of length 0
	long   int64 // those that were cut because they are longer than a row
	tokens int64 // in all rows
	alone  int64 // rows that they were if none had two documents
}

// pack makes rows of documents of an open source, where source.packing says so. After an error the source is closed.
func (r *ring) pack(ring *spec.Spec, s *spec.Source, opened source.Source) (source.Source, error) {
	if s.Packing == nil {
		return opened, nil
	}
	p := &documentPlan{spec: s.Packing, source: opened, columns: s.Columns}
	rows, plan, err := p.pack(ring)
	if err != nil {
		return nil, errors.Join(describedWrongly{fmt.Errorf("engine: ring %q: source.packing: %w", ring.FullName(), err)}, opened.Close())
	}
	r.packings = append(r.packings, plan)
	return rows, nil
}

// documentPlan finds out which documents are in which row.
type documentPlan struct {
	spec    *spec.Packing
	source  source.Source
	columns []spec.Column
	lengths func(document int64) int64
	of      string // the column that says them
}

func (p *documentPlan) pack(ring *spec.Spec) (source.Source, packing, error) {
	plan := packing{}
	if err := p.findLengths(); err != nil {
		return nil, plan, err
	}
	if err := p.look(&plan); err != nil {
		return nil, plan, err
	}
	if p.spec.By != "" {
		p.hold()
	}
	c := sampler.PackConfig{
		Documents: p.source.Len(), Length: p.spec.Length, At: func(place int64) int64 { return place }, Lengths: p.lengths,
		Truncate: p.spec.Long == spec.Truncate, Wrapped: p.spec.Strategy == spec.Wrapped,
	}
	if ring.Order.Shuffle {
		order := sampler.NewPerm(c.Documents, ring.Order.Seed, 0)
		c.At = order.At
	}
	var err error
	if plan.Packing, err = sampler.Pack(c); err != nil {
		return nil, plan, err
	}
	pads := map[string][]byte{}
	for i := range p.columns {
		pads[p.columns[i].Name] = p.columns[i].Pad
	}
	rows, err := source.Pack(p.source, source.PackConfig{
		Plan: plan.Packing, Length: c.Length, Lengths: c.Lengths, By: p.spec.By, Segments: spec.SegmentIDs, Positions: spec.PositionIDs, Pads: pads, Stay: ring.BadSample.Policy == spec.Mask,
	})
	return rows, plan, err
}

// findLengths finds the column that says how long documents are.
func (p *documentPlan) findLengths() error {
	if p.of = p.spec.By; p.of == "" {
		p.of = p.columns[0].Name
		if measured, is := p.source.(source.Measured); is {
			p.lengths = measured.Lengths(p.of)
		}
		if p.lengths == nil {
			return fmt.Errorf("how long %q is in each document is not known without reading it; name a column of type i64 that says it in source.packing.by, or write the documents as lists in Parquet or Arrow", p.of)
		}
		return nil
	}
	known, err := (&orderPlan{source: p.source}).column("by", p.of)
	if err == nil {
		p.lengths = func(document int64) int64 { v, _ := known(document).(int64); return v }
	}
	return err
}

// look goes over all lengths, and refuses those that no row can have.
func (p *documentPlan) look(plan *packing) error {
	var longest int64 = -1
	row := p.spec.Length
	for document := range p.source.Len() {
		n := p.lengths(document)
		switch {
		case n < 0 || n > math.MaxUint32:
			return fmt.Errorf("%s: got a length of %d, want 0 to %d", p.named(document), n, uint32(math.MaxUint32))
		case n == 0:
			plan.empty++
		case n > row:
			if plan.long++; longest < 0 || n > p.lengths(longest) {
				longest = document
			}
		}
		if p.spec.Long == spec.Truncate {
			n = min(n, row)
		}
		plan.tokens += n
		plan.alone += (n + row - 1) / row
	}
	switch n := p.source.Len(); {
	case plan.tokens == 0:
		return fmt.Errorf("all %d documents have a length of 0 by column %q: %w", n, p.of, source.ErrNoSamples)
	case longest >= 0 && p.spec.Long == spec.Refuse:
		which := ""
		if plan.long > 1 {
			which = fmt.Sprintf(", the longest of %d that are too long", plan.long)
		}
		return fmt.Errorf("%s: got a length of %d%s, want at most %d, source.packing.length; raise that, or say long: split (pieces become documents) or long: truncate",
			p.named(longest), p.lengths(longest), which, row)
	}
	return nil
}

// hold keeps the lengths of a column, which makes a value of its own each time that it is asked.
func (p *documentPlan) hold() {
	all := make([]uint32, p.source.Len())
	for document := range all {
		all[document] = uint32(p.lengths(int64(document)))
	}
	p.lengths = func(document int64) int64 { return int64(all[document]) }
}

// named is a document for people.
func (p *documentPlan) named(document int64) string {
	return fmt.Sprintf("column %q: document %d %q", p.of, document, store.Shown(string(p.source.Key(document, nil))))
}

// lacking is the fault of a row that stands without some of its documents.
func (r *ring) lacking(row int, sample int64, lost []*source.Error) batch.Bad {
	why := source.TimedFirst(lost)
	bad := batch.Bad{Row: row, Sample: sample, Cause: string(why.Cause), Timed: why.TimeDependent()}
	for _, e := range lost {
		bad.Lacks = append(bad.Lacks, e.Index)
	}
	bad.Err = fmt.Errorf("sample %d %q: without %d of its documents, such as: %w", sample, store.Shown(string(r.source.Key(sample, nil))), len(lost), why)
	return bad
}

// PackingReport tells what source.packing makes of a ring's documents.
type PackingReport struct {
	Rows, Documents int64   // documents that are in a row
	Empty           int64   // documents of length 0, which are in none
	Long            int64   // documents that are longer than a row
	Length          int64   // of a row
	Padding         float64 // share of all rows that is no token
	Unpacked        float64 // likewise, of a document a row, each as long as a packed one
	Longest         float64 // likewise, each as long as the longest of its batch
}

// Packing measures the rows of ring i; nil where source.packing is not said. It may be called between New and Close.
func (e *Engine) Packing(i int) *PackingReport {
	r := e.rings[i]
	if len(r.packings) == 0 {
		return nil
	}
	report := &PackingReport{}
	var tokens, alone int64
	var lengths []float64
	for k := range r.packings {
		p := &r.packings[k]
		report.Length = p.Length
		report.Rows += p.Rows()
		report.Documents += p.Documents - p.empty
		report.Empty, report.Long = report.Empty+p.empty, report.Long+p.long
		tokens, alone = tokens+p.tokens, alone+p.alone
		lengths = append(lengths, p.someLengths()...)
	}
	unused := func(rows int64) float64 { return 1 - float64(tokens)/float64(rows*report.Length) }
	report.Padding, report.Unpacked = unused(report.Rows), unused(alone)
	var batches Padding
	batches.addShuffled(lengths, r.order.Config().Batch)
	report.Longest = batches.Share
	return report
}

// someLengths are those of rows that were not packed, of documents that lie equally far apart.
func (p *packing) someLengths() (some []float64) {
	step := max(1, p.alone/maxLooked)
	for document := int64(0); document < p.Documents; document += step {
		left := p.Lengths(document)
		if p.Truncate {
			left = min(left, p.Length)
		}
		for ; left > 0; left -= p.Length {
			some = append(some, float64(min(left, p.Length)))
		}
	}
	return some
}
