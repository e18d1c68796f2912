package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// openRing opens the source, plans the order, prepares the decoding and makes the ring. The ring it returns with an error is
// for Close.
func (e *Engine) openRing(s *spec.Spec, o *Options, journalled json.RawMessage) (*ring, error) {
	r := e.newRing(s)
	began := time.Now()
	var err error
	if err = r.openSource(e.openCtx, s); err != nil {
		return r, err
	}
	e.scanned += time.Since(began)
	r.perJob = r.together(s)
	if r.inPlaceFrom(s, nil) > 0 && r.isDistant(&s.Source) {
		r.decoders = min(waitingDecoders*r.decoders, max(maxFetch, r.decoders))
	}
	if err = r.prepare(s, o); err != nil {
		return r, err
	}
	r.shapes = r.shapesOf(s)
	if r.order, err = orderOf(s, s.World.Size, r.source, r.parts, r.shapes); err != nil {
		return r, err
	}
	if r.rows, err = newRowCache(s, r.source, r.columns, r.order.StepsPerEpoch(), r.samples.rowBytes(), r.engine.unkept(r.name, "cache.rows_dir", s.Cache.RowsDir)); err != nil {
		return r, err
	}
	var budget pipeline.Failures
	r.policy, budget = policyOf(s.BadSample)
	r.forgiving, r.probation, r.enough = s.BadSample.MaxRate == 1, int(s.BadSample.Probation), enoughOf(s)
	if r.budget, err = pipeline.NewJudge(budget); err != nil {
		return r, err
	}
	if o.Trial && len(journalled) > 0 {
		if _, err := r.goOnFromJournal(journalled); err != nil {
			return r, err
		}
		journalled = nil
	}
	config, err := r.shmConfig(s, o, journalled)
	if err != nil {
		return r, err
	}
	if err := r.takeRoom(s, o, config); err != nil {
		return r, err
	}
	if err := r.reserve(config); err != nil {
		return r, err
	}
	r.stopLog = r.logEvents()
	if r.shm.Info().Adopted {
		r.beginning = journalled
		r.adopted()
		return r, nil
	}
	step := int64(config.FirstTicket / uint64(r.lanes))
	r.beginning = r.order.State(step, r.aheadOf(step)).JSON()
	if len(journalled) > 0 {
		e.log.Infof(r.name, "goes on from the journal at ticket %d; --fresh would begin anew", config.FirstTicket)
	}
	return r, r.keepNote()
}

// newRing is a ring as the description says, with nothing opened.
func (e *Engine) newRing(s *spec.Spec) *ring {
	r := &ring{
		engine: e, name: s.FullName(), ringName: s.RingName, seed: s.Order.Seed, lanes: s.Lanes(), firstRank: s.World.Rank,
		fetchers: s.Limits.Fetch, decoders: e.may.decoders, hashed: s.Ring.Hash == spec.XXH3, mayEnd: mayEnd(s),
		moves: make(chan *move), over: make(chan struct{}), broken: make(chan error, 1),
	}
	if s.Ring.Delivery == spec.Ready {
		r.readyAhead, r.judged = s.Ring.Ahead, map[uint64]bool{}
		if r.readyAhead == 0 {
			r.readyAhead = s.Ring.Slots / 2
		}
	}
	if s.Cache.Dir == "" && s.Cache.RowsBytes == 0 { // else many reads will not be made
		r.advised = s.Limits.ReadAheadBytes
	}
	if s.Limits.FetchAuto {
		r.fetchAuto = pipeline.Auto{Max: maxFetch}
	}
	return r
}

// reserve makes the ring in shared memory.
func (r *ring) reserve(c shm.Config) (err error) {
	r.slots = c.Slots
	r.remakes = r.samples.coded() != nil || slices.ContainsFunc(c.Groups, func(g shm.GroupConfig) bool { return g.Kind == shm.KindStage })
	began := time.Now()
	r.shm, err = shm.Create(c)
	r.engine.reserved += time.Since(began)
	return err
}

// prepare compiles what samples are decoded to.
func (r *ring) prepare(s *spec.Spec, o *Options) (err error) {
	if o.HostOnly {
		host := *s
		host.Device, s = nil, &host
	}
	of := samplesOf
	if o.samples != nil {
		of = o.samples
	}
	if r.samples, err = of(s); err != nil {
		return err
	}
	if r.columns, r.followed, err = r.samples.follow(s, r.columns); err != nil {
		return err
	}
	if r.samples.coded() != nil {
		r.refused = &refusals{all: map[int64]bool{}}
	}
	for _, note := range r.samples.notes() {
		r.engine.log.Infof(r.name, "%s", note)
	}
	return nil
}

// takeRoom refuses a ring that has no room in this machine's memory, or in what the description leaves the engine of it. A trial's slots
// count as those that would be served.
func (r *ring) takeRoom(s *spec.Spec, o *Options, c shm.Config) (err error) {
	if o.Trial && s.Device != nil {
		of, err := samplesOf(s)
		if err != nil {
			return err
		}
		c.Tensors = tensorsOf(s, of.fields, r.columns)
	}
	if r.servedSlot, err = shm.SlotBytes(c); err != nil {
		return err
	}
	lower := "ring.slots or batch"
	if slices.ContainsFunc(s.Source.Columns, func(c spec.Column) bool { return c.Type == spec.TypeText || c.Type == spec.TypeNPY }) {
		lower += ", or max_bytes of source.columns"
	}
	if err = thisMachine.checkMemory(r.name, r.servedSlot, c.Slots, lower); err != nil {
		return err
	}
	return r.engine.may.reserve(r.name, r.servedSlot, c.Slots, lower)
}

// Samples of a job are read before the read-ahead budget is asked, and its fetcher holds them until there is room.
const (
	aloneBytes = 256 << 10 // what the columns of a sample have that does not travel with others
	fewSamples = 4         // that travel together
	manyRows   = 64        // likewise, of whole arrays, whose rows are copied in less time than a hand-over takes
)

// together is how many samples of a batch travel together: so many that hand-overs cost little, so few that every worker
// has several jobs of each batch.
func (r *ring) together(s *spec.Spec) int {
	bytes, most := columnBytes(r.columns), fewSamples
	switch {
	case bytes >= aloneBytes:
		most = 1
	case s.Source.Arrays != nil && len(s.Media()) == 0:
		most = min(max(aloneBytes/max(bytes, 1), fewSamples), manyRows)
	}
	return max(min(s.Batch/(4*r.decoders), most), 1)
}

// columnBytes is what the columns of a sample have at most, texts aside.
func columnBytes(columns []source.Column) (n int) {
	for c := range columns {
		if columns[c].Type != source.Text {
			n += columns[c].Most()
		}
	}
	return n
}

// policyOf is the row policy and the budget. Under fail the first bad sample ends the ring.
func policyOf(b spec.BadSample) (batch.Policy, pipeline.Failures) {
	f := pipeline.Failures{MaxCount: int(b.MaxCount), Probation: max(1, int(b.Probation))} // of which 0 is another number
	if b.MaxRate >= 0 {
		f.MaxRate = max(b.MaxRate, pipeline.NoFailures) // and of which 0 is none
	}
	switch b.Policy {
	case spec.Mask:
		return batch.Mask, f
	case spec.Substitute:
		return batch.Substitute, f
	case spec.Fail:
		return batch.Skip, pipeline.Failures{}
	}
	return batch.Skip, f
}

func (r *ring) shmConfig(s *spec.Spec, o *Options, journalled json.RawMessage) (shm.Config, error) {
	facts, err := json.Marshal(struct {
		Classes []string                `json:"classes,omitempty"`
		Ragged  map[string]tensor.Shape `json:"ragged,omitempty"`  // of one step of the rows of ragged fields
		Extents map[string]string       `json:"extents,omitempty"` // of ragged pictures, the field that says how large each is
		Spec    json.RawMessage         `json:"spec"`
		Data    sampler.Data            `json:"data,omitempty"` // so that a ring is not adopted over other samples
	}{r.source.Classes(), raggedSteps(r.samples.fields, r.columns), raggedExtents(s, r.samples.fields), s.Canonical(), r.order.Config().Data})
	if err != nil {
		return shm.Config{}, fmt.Errorf("engine: ring %q: class names: %w", s.FullName(), err)
	}
	c := shm.Config{
		Name: s.Name, RingName: s.RingName, Mode: s.Ring.Mode, Slots: s.Ring.Slots, Tensors: tensorsOf(s, r.samples.fields, r.columns),
		Backing: backingOf(s.Ring.Backing, o.Child), Access: accessOf(s.Ring.Access, o.Child),
		Lanes: r.lanes, World: s.World.Size, FirstRank: s.World.Rank, BatchRows: s.Batch, MaxConsumers: s.Ring.MaxConsumers,
		Early: true, Ready: r.readyAhead > 0,
		NSamples: uint64(r.source.Len()), GlobalBatch: uint64(r.order.GlobalBatch()), StepsPerEpoch: uint64(r.order.StepsPerEpoch()),
		Epochs: uint64(s.Order.Epochs), Seed: s.Order.Seed, SpecHash: s.Hash(), Text: facts,
	}
	var state *sampler.State
	switch {
	case o.State != nil:
		state, err = r.parseState(o.State)
	case len(journalled) > 0:
		state, err = r.goOnFromJournal(journalled)
	}
	if err != nil {
		return c, err
	}
	if state != nil {
		r.goOnFrom(state)
		c.FirstTicket, c.FirstEpoch = r.ticket(r.firstStep(state)), uint64(state.Epoch)
	}
	if o.Step > 0 {
		c.FirstTicket, c.FirstEpoch = r.ticket(o.Step), uint64(o.Step/r.order.StepsPerEpoch())
	}
	if s.Device != nil && !o.HostOnly {
		r.upload = &uploading{host: s.Device.Otherwise == spec.OnHost, restarts: s.Device.Restarts}
		c.Device, r.upload.plan = deviceOf(s, r.samples, c.Tensors)
		c.MaxConsumers++ // the uploader is a member, too
		c.Device.GivesBack = r.samples.coded() != nil
		for i := range c.Device.Tensors {
			if from := &c.Tensors[c.Device.Tensors[i].From]; from.Kind == shm.Dense {
				r.upload.stats.BatchBytes += denseBytes(from)
			}
		}
	}
	c.Adopt = o.State == nil && o.Step == 0 && !o.Fresh // who says where to go on does not want the ring's own position
	for _, g := range s.Ring.Groups {
		c.Groups = append(c.Groups, groupOf(g))
	}
	return c, nil
}

func groupOf(g spec.Group) shm.GroupConfig {
	c := shm.GroupConfig{Name: g.Name, Mode: shm.ModeShared, Slow: shm.SlowBlock, NoRedeliver: !g.Redeliver}
	if g.Kind == spec.Stage {
		c.Kind = shm.KindStage
	}
	if g.Mode == spec.Lanes {
		c.Mode = shm.ModeLanes
	}
	switch g.Slow {
	case spec.Drop:
		c.Slow = shm.SlowDrop
	case spec.Detach:
		c.Slow = shm.SlowDetach
	}
	return c
}

// tensorsOf is the schema of a slot, in the order of sampleTensor, indexTensor ...
func tensorsOf(s *spec.Spec, fields []field, columns []source.Column) []shm.Tensor {
	n := int64(s.Batch)
	column := func(name string, role uint32, d tensor.DType) shm.Tensor {
		return shm.Tensor{Name: name, Kind: shm.Dense, Role: role, DType: dtypeOf(d), Shape: []int64{n}}
	}
	var own []shm.Tensor
	for f := range fields {
		own = append(own, fields[f].tensor(n))
	}
	masks := planes(s)
	for c := range columns {
		t := columnTensor(&columns[c], n)
		if masks[t.Name] != "" {
			t.Axes = shm.AxesNCHW
		}
		own = append(own, t)
		if columns[c].Padded {
			own = append(own, column(spec.LengthOf(columns[c].Name), shm.RoleField, tensor.I64))
		}
	}
	tensors := []shm.Tensor{
		own[0],
		column("index", shm.RoleIndex, tensor.I64),
		{Name: "key", Kind: shm.Ragged, Role: shm.RoleKey, DType: dtypeOf(tensor.U8), Values: n * batch.KeyBytes},
		column("status", shm.RoleStatus, tensor.U8),
		column("label", shm.RoleLabel, tensor.I64),
	}
	return append(tensors, own[1:]...)
}

// columnTensor is a column of n rows in a slot.
func columnTensor(c *source.Column, n int64) shm.Tensor {
	t := shm.Tensor{Name: c.Name, Kind: shm.Dense, Role: shm.RoleField, Shape: []int64{n}}
	switch {
	case c.Type == source.Int64:
		t.DType = dtypeOf(tensor.I64)
	case c.Type == source.Float64:
		t.DType = dtypeOf(tensor.F64)
	case c.Padded:
		t.DType, t.Shape = dtypeOf(c.DType), append(append(t.Shape, int64(c.MaxLength)), c.Shape...)
	case c.Shaped() && c.MaxLength == 0:
		t.DType, t.Shape = dtypeOf(c.DType), append(t.Shape, c.Shape...)
	case c.Shaped():
		t.Kind, t.DType, t.Shape, t.Values = shm.Ragged, dtypeOf(c.DType), nil, n*int64(c.Most()/c.DType.Bytes())
	default:
		t.Kind, t.DType, t.Shape, t.Values = shm.Ragged, dtypeOf(tensor.U8), nil, n*int64(c.MaxBytes)
	}
	return t
}

func dtypeOf(d tensor.DType) shm.DType {
	return shm.DType{Code: d.Code(), Bits: d.Bits(), Lanes: d.Lanes()}
}

func backingOf(name string, child bool) shm.Backing {
	if name == spec.Memfd || (name == "" && child) {
		return shm.Memfd
	}
	return shm.Posix
}

func accessOf(name string, child bool) shm.Access {
	if name == spec.Private || (name == "" && child) {
		return shm.Private
	}
	return shm.Shared
}
