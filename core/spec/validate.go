package spec

import (
	"fmt"
	"math"
	"slices"
)

const (
	maxBatch     = 65536
	maxWorld     = 1 << 20
	maxLanes     = 64 // shm.MaxLanes
	MinSlots     = 3  // of a ring
	maxSlots     = 65536
	maxEpochs    = math.MaxInt64
	maxRingBytes = 1 << 46
)

// Validate fills in what depends on other fields (the name, dtype, slots) and checks everything that one field alone does not show. Parse has
// done it; a program that changes a Spec calls it again. Slots that were filled in stay as they are: set them to 0 to
// have them chosen anew.
func (s *Spec) Validate() error {
	d := &decoder{pos: map[string]place{}}
	if s.Name == "" {
		s.Name = deriveName(s, "")
	}
	for _, r := range s.All() {
		d.complete(r)
	}
	if d.err != nil {
		return d.err
	}
	return nil
}

// failAt is fail for a path, at the place where the document has it or the nearest thing above it.
func (d *decoder) failAt(path, format string, args ...any) {
	e := &Error{File: d.file, Path: path, Text: fmt.Sprintf(format, args...)}
	for at := path; at != ""; at = parent(at) {
		if p, ok := d.pos[at]; ok {
			e.Line, e.Col = p.line, p.col
			e.Path = p.path + path[len(at):]
			break
		}
	}
	if d.err == nil {
		d.err = e
	}
}

// parent cuts the last key or [index] off a path.
func parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// complete derives what a ring leaves open and checks what its parts say together.
func (d *decoder) complete(s *Spec) {
	if d.err != nil {
		return
	}
	if !validName(s.Name) {
		d.failAt("name", "got %.70q, want %s", s.Name, nameRule)
	}
	if s.Source.Arrays != nil {
		s.Source.Columns = s.Source.arrayColumns()
	}
	if len(s.Source.Columns) > 0 && d.untouched(s) {
		s.Image = nil
	}
	d.checkSource(s)
	d.checkClips(s)
	d.checkParts(s)
	d.checkWindows(s)
	d.checkChosen(s)
	d.checkBoxes(s)
	d.checkPieces(s)
	d.checkMany(s)
	d.checkInOrder(s)
	d.checkPacking(s)
	d.checkOrder(&s.Order, &s.Source)
	d.checkGroups(&s.Ring)
	if lanes := s.Lanes(); !s.World.Auto && s.World.Size < s.World.Rank+lanes {
		d.failAt("world.size", "got %d, want at least rank + lanes = %d + %d = %d; ranks are counted from 0", s.World.Size, s.World.Rank, lanes, s.World.Rank+lanes)
	}
	if s.Batch < 1 || s.Batch > maxBatch {
		d.failAt("batch", "got %d, want a whole number from 1 to %d", s.Batch, maxBatch)
	}
	d.checkBuckets(&s.Order.Buckets, s.Batch)
	d.checkSizes(s)
	if g := int64(s.Batch) * int64(s.World.Size); g > math.MaxInt32 {
		d.failAt("batch", "got a global batch of %d (batch %d x world size %d), want at most %d", g, s.Batch, s.World.Size, math.MaxInt32)
	}
	s.completeSource()
	for _, m := range s.Media() {
		m.check(d.failAt)
	}
	d.checkMasks(s)
	d.checkFollowed(s.Media())
	d.checkCache(s)
	if s.Ring.Slots == 0 {
		s.Ring.Slots = max(8, 4*s.Members()+4)
	}
	d.checkDelivery(&s.Ring)
	d.checkDevice(s)
	if d.err != nil {
		return
	}
	if row := s.rowBytes(); row > maxRingBytes/int64(s.Ring.Slots)/int64(s.Batch) {
		d.failAt("ring.slots", "got %d slots of %d rows of %d bytes, want less than 64 TiB in all", s.Ring.Slots, s.Batch, row)
	}
}

// rowBytes is the size of one sample.
func (s *Spec) rowBytes() (n int64) {
	for _, m := range s.Media() {
		n += m.rowBytes()
	}
	return n
}

func (d *decoder) checkDelivery(r *Ring) {
	switch {
	case r.Delivery != Ready && r.Ahead > 0:
		d.failAt("ring.ahead", "got %d, but batches come in order; add delivery: ready", r.Ahead)
	case r.Ahead >= r.Slots:
		d.failAt("ring.ahead", "got %d, want less than the %d slots", r.Ahead, r.Slots)
	case r.Delivery == Ready && slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Kind == Stage }):
		d.failAt("ring.delivery", "got ready with a stage, want ordered: a stage has the batches one after the other")
	}
}

func (d *decoder) checkGroups(r *Ring) {
	names, lanes := map[string]bool{}, 0
	for i, g := range r.Groups {
		at := fmt.Sprintf("ring.groups[%d]", i)
		switch {
		case g.Name == "":
			d.failAt(at, "name is missing, want name: %s", nameRule)
		case !validName(g.Name):
			d.failAt(at+".name", "got %.70q, want %s", g.Name, nameRule)
		case names[g.Name]:
			d.failAt(at+".name", "got %q twice, want a name of its own for each group", g.Name)
		case g.Mode != Lanes && g.Lanes != 1:
			d.failAt(at+".lanes", "got %d with mode shared, want mode: lanes", g.Lanes)
		case g.Mode == Lanes && lanes != 0 && g.Lanes != lanes:
			d.failAt(at+".lanes", "got %d, want %d as in the lanes group before", g.Lanes, lanes)
		case g.Kind == Stage && g.Mode == Lanes:
			d.failAt(at+".mode", "got lanes for a stage, want shared: it has every batch before the lanes part")
		case g.Kind == Stage && g.Slow != Block:
			d.failAt(at+".slow", "got %s for a stage, want block: a batch that passed it by would not be transformed", g.Slow)
		case g.Kind == Stage && !g.Redeliver:
			d.failAt(at+".redeliver", "got false for a stage, want true: what its dead worker held is decoded again")
		}
		names[g.Name] = true
		if g.Mode == Lanes {
			lanes = g.Lanes
		}
	}
}
