package shm

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"
)

// A ring with a device: one more stage, the last, whose only member is an uploader. It has each batch alone, copies it from
// its slot to a device slot, and lets go of it when the copy is complete. It writes no host memory. A batch that it cannot upload as it is, it
// gives back, to be made again (failed, in stage.go).
//
//	Publish -> stages -> waits for a device slot -> uploader -> every group of consumers
//	                                                  ^  | it died: the device memory is void
//	                                                  +--+ its batches are uploaded again, from the slots, where they still are
//
// A device slot belongs to one slot from when the uploader is offered it until the slot is free in every group, so whatever keeps a
// slot from being refilled keeps its device memory too. The tickets in the device slots are the lowest ones on their way:
// a later batch never takes the device slot that an earlier one waits for.

// DeviceGroup is the name of the uploader's group.
const DeviceGroup = "device"

// MaxDeviceSlots bounds DeviceConfig.Slots: one message carries the events of all.
const MaxDeviceSlots = 64

// DeviceConfig has every batch copied to a device before consumers see it.
type DeviceConfig struct {
	Device  int // ordinal, as the uploader counts
	Slots   int // of device memory, 2 to MaxDeviceSlots
	Tensors []DeviceTensor
	// GivesBack: the uploader may give batches back, which NextSpoiled has then.
	GivesBack bool
}

// DeviceTensor is a tensor of every device slot.
type DeviceTensor struct {
	Tensor
	From int // the tensor of the slot that it is made of
}

// uploads is what the engine knows of the device. Guarded by Ring.mu.
type uploads struct {
	group      *group
	pool       *Pool   // of the device memory
	events     []Pool  // by device slot
	lent       []*Slot // by device slot: whose it is; nil: nobody's
	generation uint64  // of the pools; 0: void
	last       uint64  // the highest there was
	short      bool    // some batch waits for a device slot
	off        bool    // no uploader comes any more: batches stay in host memory
	again      []int   // slots whose consumers wait for them to be uploaded again, in ticket order

	uploaded, repeated, kept uint64
}

// DeviceInfo is what the engine knows of the device.
type DeviceInfo struct {
	Device     int    `json:"device"`
	Slots      int    `json:"slots"`
	SlotBytes  uint64 `json:"slot_bytes"`
	Lent       int    `json:"lent"`       // device slots that belong to a batch
	Waiting    bool   `json:"waiting"`    // a batch waits for one
	Generation uint64 `json:"generation"` // of the device memory; 0: there is no uploader
	Uploaded   uint64 `json:"uploaded"`   // batches
	Again      uint64 `json:"again"`      // of these, more than once: their uploader died
	Host       uint64 `json:"host"`       // batches that went to consumers in host memory alone
}

func (c *DeviceConfig) check(ring *Config, bad func(string, ...any) error) error {
	switch {
	case c.Slots < 2 || c.Slots > MaxDeviceSlots:
		return bad("%d device slots, want 2 to %d", c.Slots, MaxDeviceSlots)
	case len(c.Tensors) == 0 || len(ring.Tensors)+len(c.Tensors) > MaxTensors:
		return bad("%d tensors on the device beside %d, want at least 1 and at most %d together", len(c.Tensors), len(ring.Tensors), MaxTensors)
	}
	for _, t := range c.Tensors {
		if t.Kind != Dense || t.From < 0 || t.From >= len(ring.Tensors) {
			return bad("device tensor %q of tensor %d, want a dense one of one of %d", t.Name, t.From, len(ring.Tensors))
		}
	}
	return nil
}

// use notes in a batch's device tensors that it uses less of a tensor of its slot.
func (c *DeviceConfig) use(tensors []DescTensor, u Used) {
	if c == nil {
		return
	}
	for j := range tensors {
		if c.Tensors[j].From == u.Tensor && u.Dim < len(c.Tensors[j].Shape) {
			tensors[j].Shape[u.Dim] = u.Size
		}
	}
}

// openUploads points at the pool records, after the group of the uploader was made.
func (r *Ring) openUploads(g *group) {
	pools := manyAt[Pool](r.header.mem, r.geo.poolOff, r.geo.nPools)
	r.device = &uploads{group: g, pool: &pools[1], events: pools[2:], lent: make([]*Slot, r.cfg.Device.Slots)}
}

// writePools describes the device memory, void until an uploader comes.
func (r *Ring) writePools() {
	pools := manyAt[Pool](r.header.mem, r.geo.poolOff, r.geo.nPools)
	pools[0].Kind, pools[0].DeviceType, pools[0].Bytes = poolHostShm, deviceCPU, r.geo.dataBytes
	for i := range pools[1:] {
		p := &pools[1+i]
		p.Kind, p.DeviceType, p.DeviceID = poolCUDAEvent, deviceCUDA, int32(r.cfg.Device.Device)
		if i == 0 {
			p.Kind, p.Bytes, p.SlotBytes = poolCUDAIPC, r.geo.deviceStride*uint64(r.cfg.Device.Slots), r.geo.deviceStride
		}
	}
}

// recoverUploads reads what a dead engine left of the device: which slot has which device slot, and which batches consumers wait for. The
// memory itself is void (loseDevice): the exporter lives no longer than its engine.
func (r *Ring) recoverUploads() error {
	d := r.device
	if d == nil {
		return nil
	}
	d.generation = d.pool.Generation.Load()
	for i := range d.events {
		d.last = max(d.last, d.events[i].Generation.Load())
	}
	for _, i := range slices.Backward(r.ticketOrder()) { // the latest owner of a device slot is its owner, whatever members have written about others
		s := &r.slots[i]
		if r.slotFree(i) {
			continue
		}
		switch k := s.desc.Fence[0]; {
		case s.desc.Pool == 0:
		case s.desc.Pool != 1 || k >= uint64(len(d.lent)):
			return refuse(ErrState, "shm: adopt %q: slot %d: device slot %d of pool %d, there are %d of pool 1; %s", r.cfg.label(), i, k, s.desc.Pool, len(d.lent), adoptRemedy)
		case d.lent[k] == nil:
			d.lent[k], s.device = s, int(k)
		}
		if !s.way.on && r.isAway(i) {
			d.again = append(d.again, i)
		}
	}
	slices.Reverse(d.again)
	return nil
}

// isAway says that some consumers' word of slot i is out of reach.
func (r *Ring) isAway(i int) bool {
	return slices.ContainsFunc(r.consumers(), func(g *group) bool { return isAway(g.shadow[i].word) })
}

// endUploader ends the uploader that a dead engine left, if it has not ended with it: what it writes from here on nobody would
// expect.
func (m *member) endUploader(started uint64) error {
	label := m.group.r.cfg.label()
	if int(m.pid) == os.Getpid() {
		return refuse(ErrState, "shm: adopt %q: its uploader is this very process; close it first", label)
	}
	if now := startTime(m.pid); (started == 0 || now != started) && !diedNow(m.pidfd) { // findProcess takes it for the one that it may be
		return refuse(ErrState, "shm: adopt %q: nobody tells since when process %d runs, which may be the uploader that the dead engine left; end it if it is, or mount /proc", label, m.pid)
	}
	if err := kill(m.pidfd); err != nil { // none for one that is dead
		return because(err, ErrDenied, "shm: adopt %q: kill uploader %d that the dead engine left: %v; end it", label, m.pid, err)
	}
	_ = m.pidfd.SetReadDeadline(time.Now().Add(killTime))
	if !awaitDeath(m.pidfd) {
		return refuse(ErrBusy, "shm: adopt %q: uploader %d that the dead engine left was killed but has not ended; it may hang in the driver", label, m.pid)
	}
	return nil
}

// ---- device slots --------------------------------------------------------------------------------

// lend gives the slot a device slot, and says whether there was one. parked is set before the last look: who frees a slot says
// so then.
func (r *Ring) lend(s *Slot) bool {
	d := r.device
	if d.short {
		return false // an earlier batch waits
	}
	k := r.findLendable()
	if k < 0 {
		r.state.Parked.Store(1)
		k = r.findLendable()
	}
	if k < 0 {
		d.short = true
		return false
	}
	d.lent[k] = s
	s.device = k
	s.desc.FenceKind, s.desc.Fence[0] = fenceCUDA, uint64(k)
	atomic.StoreUint64(&s.desc.Fence[1], 0)
	atomic.StoreUint32(&s.desc.Pool, 1) // last: the next engine believes it
	return true
}

// findLendable is a device slot that no batch has any more; -1: there is none.
func (r *Ring) findLendable() int {
	for k, s := range r.device.lent {
		if s == nil {
			return k
		}
		if r.slotFree(s.index) {
			r.takeDevice(s)
			return k
		}
	}
	return -1
}

// takeDevice ends what a slot has of the device.
func (r *Ring) takeDevice(s *Slot) {
	if s.device >= 0 {
		r.device.lent[s.device] = nil
		s.device = -1
	}
}

// waits says that the batch needs a device slot and there is none. It offers it to the uploader when there is one.
func (r *Ring) waits(s *Slot) bool {
	switch {
	case !s.way.waiting:
		return false
	case s.way.void || r.device.off:
		s.way.waiting = false
		return false
	case !r.lend(s):
		return true
	}
	s.way.waiting = false
	r.offer(s.index)
	r.device.group.wakeLane(0, false)
	return false
}

// settleUpload writes where a batch is that the uploader is through with.
func (r *Ring) settleUpload(s *Slot) {
	d := r.device
	if d.off || d.generation == 0 || s.device < 0 {
		r.takeDevice(s)
		s.desc.Pool, s.desc.FenceKind = 0, 0
		d.kept++
		return
	}
	atomic.StoreUint64(&s.desc.Fence[1], d.generation)
	d.uploaded++
}

// stale says that the slot's batch was on a device whose memory is void.
func (r *Ring) stale(s *Slot) bool {
	return s.device >= 0 && atomic.LoadUint64(&s.desc.Fence[1]) != r.device.generation
}

// ---- the uploader --------------------------------------------------------------------------------

// deviceReady hears from the uploader where its memory and its events are.
func (r *Ring) deviceReady(m *member, d Device, events []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	label, u := r.cfg.label(), r.device
	switch {
	case r.closed || m.group.members[m.index] != m:
		return refuse(ErrDetached, "shm: ring %q: device: member %d has left", label, m.owner)
	case m.group.cfg.Kind != KindUploader:
		return refuse(ErrArgument, "shm: ring %q: device: group %q is no uploader's", label, m.group.cfg.Name)
	case u.generation != 0:
		return refuse(ErrArgument, "shm: ring %q: device: said already", label)
	case int(d.NSlots) != len(u.lent) || d.SlotBytes != r.geo.deviceStride || d.Bytes < d.SlotBytes*uint64(d.NSlots) || len(events) != len(u.lent)*int(unsafe.Sizeof(u.pool.Handle)):
		return refuse(ErrArgument, "shm: ring %q: device: %d slots of %d bytes in %d, %d bytes of events; want %d of %d; use engine and uploader of one release",
			label, d.NSlots, d.SlotBytes, d.Bytes, len(events), len(u.lent), r.geo.deviceStride)
	}
	u.last++
	for k := range u.events {
		u.events[k].export(events[k*len(u.pool.Handle):], d.UUID, u.last)
	}
	u.pool.Bytes, u.pool.DeviceID, u.pool.Handle, u.pool.UUID = d.Bytes, int32(d.DeviceID), d.Handle, d.UUID
	r.setGeneration(u.last)
	r.report(Event{What: "device", Group: m.group.cfg.Name, Owner: m.owner, PID: m.pid, Text: fmt.Sprintf("%d slots of %d bytes", d.NSlots, d.SlotBytes)})
	return nil
}

// export writes an event's record. Meanwhile it is of no generation: whoever copies it under the one before sees that it has changed.
// The highest generation is in the other records still, should the engine be killed here.
func (p *Pool) export(handle []byte, uuid [16]byte, generation uint64) {
	p.Generation.Swap(0) // an exchange, which no store behind it passes; pairs with the two loads around the copy in read_pool (capi/client/pool.c)
	copy(p.Handle[:], handle)
	p.UUID = uuid
	p.Generation.Store(generation) // store-release: who sees it sees the handle
}

// setGeneration makes what the pool records say visible, or void.
func (r *Ring) setGeneration(generation uint64) {
	r.device.generation = generation
	r.device.pool.Generation.Store(generation) // store-release: who sees it sees the handles
}

// loseDevice is called when the uploader is dead, or has left: its memory is void. What it held, what it was through with and nobody
// had got yet, and what consumers have not claimed, is uploaded again by the next one. What they hold stays readable in host
// memory. tried: what it held counts as its try, since it died by itself.
func (r *Ring) loseDevice(tried bool) {
	r.setGeneration(0)
	_ = Fault("device.void")
	g, order := r.device.group, r.ticketOrder()
	for _, i := range slices.Backward(order) { // the latest first: whoever claims one meanwhile has missed none before it
		if s := &r.slots[i]; !s.way.on && s.device >= 0 {
			r.recall(s)
		}
	}
	r.forgetCalledBack()
	for _, i := range order {
		if g.phase != phaseBroken {
			g.look(i)
		}
		s := &r.slots[i]
		switch state := stateOf(g.shadow[i].word); {
		case state == wordReady || s.way.waiting || s.way.spoiled:
		case state == wordHeld && (s.way.void || r.device.off || s.device < 0 || !s.way.on && !slices.Contains(r.device.again, i)):
			g.takeBack(i) // nobody waits for it
		case s.way.on && s.device < 0: // a dead engine had settled that it stays in host memory
		case state == wordHeld, s.way.on && !s.way.void && r.stages[s.way.at] == g, s.device >= 0 && slices.Contains(r.device.again, i):
			r.offerAgain(i, tried && state == wordHeld)
		}
	}
}

// ticketOrder are all slots in the order of their tickets.
func (r *Ring) ticketOrder() []int {
	order := make([]int, len(r.slots))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, r.byTicket)
	return order
}

func (r *Ring) byTicket(a, b int) int {
	return cmp.Compare(r.slots[a].desc.Ticket, r.slots[b].desc.Ticket)
}

// offerAgain gives a slot to the next uploader, before all others; tried says that the one before died of it, perhaps.
func (r *Ring) offerAgain(i int, tried bool) {
	if r.device.off {
		return // nobody would take it
	}
	r.device.repeated++
	g := r.device.group
	if g.phase == phaseBroken {
		g.shadow[i].word = packWord(wordReady, 0, 0) // waits for the fresh segment
		return
	}
	sh := &g.shadow[i]
	if stateOf(sh.word) != wordHeld {
		g.count(&g.published, &g.rec.Published, 1)
	}
	if !tried {
		sh.attempts -= min(sh.attempts, 1) // redeliver counts one more
	}
	g.redeliver(i)
	g.wakeLane(0, false)
}

// The sequences of words that are out of reach: READY, so that no epoch ends, and in no queue, so that nobody claims them. No
// sequence that is handed out comes near. In a ring that is withdrawn none comes back.
const (
	seqAway     = seqMask     // it comes back at the end of the queue, whose later batches all wait
	seqAwayRedo = seqMask - 1 // it comes back in the redo queue: its holder died
)

// isAway says that a word is out of reach.
func isAway(w uint64) bool {
	return stateOf(w) == wordReady && (seqOf(w) == seqAway || seqOf(w) == seqAwayRedo)
}

// recall takes an unclaimed batch out of the reach of its consumers, to be uploaded again.
func (r *Ring) recall(s *Slot) {
	away := false
	for _, g := range r.consumers() {
		if g.phase != phaseBroken && g.look(s.index) && stateOf(g.shadow[s.index].word) == wordReady {
			away = g.putAway(s.index, seqAway) || away
		}
	}
	if away {
		r.waitForUpload(s)
	}
}

// putAway puts the word out of reach; false: it was claimed this moment.
func (g *group) putAway(i int, seq uint64) bool {
	sh, away := &g.shadow[i], packWord(wordReady, 0, seq)
	if seqOf(sh.word) == seqAwayRedo && stateOf(sh.word) == wordReady {
		return true
	}
	if !g.words[i].Word.CompareAndSwap(sh.word, away) {
		return false
	}
	sh.word = away
	return true
}

// recallStale puts slot i's word out of the group's reach, to be uploaded again, if its batch is of a device that is lost.
func (g *group) recallStale(i int, seq uint64) bool {
	r, s := g.r, &g.r.slots[i]
	if r.device == nil || !r.stale(s) || !g.putAway(i, seq) {
		return false
	}
	r.uploadAgain(s)
	return true
}

// waitForUpload notes that consumers wait for the batch.
func (r *Ring) waitForUpload(s *Slot) {
	if d := r.device; !slices.Contains(d.again, s.index) {
		d.again = append(d.again, s.index)
		slices.SortFunc(d.again, r.byTicket)
	}
}

// forgetCalledBack drops what consumers waited for and a load or a restart has called back: nobody uploads it, and its slot may hold another batch soon.
func (r *Ring) forgetCalledBack() {
	d := r.device
	d.again = slices.DeleteFunc(d.again, func(i int) bool {
		if r.isAway(i) {
			return false
		}
		if !r.slots[i].way.on && d.group.discard(i) {
			r.wakeClaim()
		}
		return true
	})
}

// uploadAgain has the next uploader copy a batch that consumers wait for.
func (r *Ring) uploadAgain(s *Slot) {
	r.waitForUpload(s)
	if stateOf(r.device.group.shadow[s.index].word) == wordFree {
		r.offerAgain(s.index, false)
	}
}

// giveAgain gives consumers what was uploaded again, in ticket order. It says whether there is more to come: nothing new
// passes it, so that every queue stays in order.
func (r *Ring) giveAgain() (more bool) {
	d := r.device
	r.forgetCalledBack()
	for len(d.again) > 0 {
		i := d.again[0]
		s := &r.slots[i]
		if d.off {
			d.group.discard(i)
		}
		if !d.group.through(i) {
			return true
		}
		r.settleUpload(s)
		d.again = d.again[1:]
		lane := s.desc.Lane.Load()
		for _, g := range r.consumers() {
			switch w := g.shadow[i].word; {
			case g.phase != phaseActive || stateOf(w) != wordReady:
				continue
			case seqOf(w) == seqAway:
				g.enqueue(i, g.queueOf(lane), s.desc.Ticket, g.shadow[i].attempts+1)
				g.count(&g.redelivered, &g.rec.Redelivered, 1)
			case seqOf(w) == seqAwayRedo:
				g.redeliver(i)
			}
			g.wakeLane(g.queueOf(lane), false)
		}
	}
	return false
}

// DeviceOff says that no uploader comes any more: batches go to consumers in host memory from here on.
func (r *Ring) DeviceOff() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.device == nil || r.device.off {
		return
	}
	r.device.off = true
	r.setGeneration(0)
	for _, i := range r.onWay {
		if s := &r.slots[i]; s.way.on && r.stages[s.way.at] == r.device.group {
			r.device.group.discard(i)
		}
	}
	r.handOn()
}

func (r *Ring) deviceInfo() *DeviceInfo {
	d := r.device
	if d == nil {
		return nil
	}
	lent := 0
	for _, s := range d.lent {
		if s != nil && (r.closed || !r.slotFree(s.index)) {
			lent++
		}
	}
	return &DeviceInfo{
		Device: r.cfg.Device.Device, Slots: len(d.lent), SlotBytes: r.geo.deviceStride, Lent: lent, Waiting: d.short, Generation: d.generation,
		Uploaded: d.uploaded, Again: d.repeated, Host: d.kept,
	}
}
