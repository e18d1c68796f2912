package shm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mmap "github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// An engine that starts under the name of a killed one goes on with its ring. The slot words are the journal: what is
// completed does not come again, what is leased stays leased, what nobody published is free. Attached consumers keep their
// mappings and never notice, but for the descriptors that they get anew over the socket.
//
// It does so only if it would have made the very same ring: layout, description, boot and every number of the header. Anything else
// is refused by name, because a ring that starts over in silence is a training run that repeats itself.

const adoptRemedy = "end its consumers and remove it with spdl clean, or start over with --fresh"

// adopt takes over what a dead engine left, and says whether there was something to take over: a ring that was never
// finished, or that ended in good order or with an error, is nobody's to go on with.
func (r *Ring) adopt() (bool, error) {
	if r.cfg.Backing != Posix || !r.cfg.Adopt {
		return false, nil
	}
	found, err := r.openLeftover()
	if err != nil || !found {
		r.forgetLeftover()
		return false, err
	}
	err = r.compare()
	if err == nil {
		err = r.openSelf()
	}
	if err == nil {
		err = r.recover()
	}
	if err != nil {
		r.forgetLeftover()
		return false, err
	}
	return true, nil
}

// openLeftover opens and locks the header that a dead engine left.
func (r *Ring) openLeftover() (bool, error) {
	path := filepath.Join(shmDir, r.base+".h")
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, because(err, ErrDenied, "shm: adopt %q: %v; %s", path, err, ownerRemedy(path))
	}
	r.header = &segment{file: file, peer: file, path: path}
	if err := ownFile(file, path); err != nil {
		return false, err
	}
	if err := lockHeader(r.header); err != nil {
		return false, because(ErrNameInUse, ErrBusy, "shm: create %q: a running engine%s owns the name; stop it (one whose loader is closed ends with the last array of its batches), or choose another name", path, enginePIDText(file))
	}
	st, err := file.Stat()
	if err != nil || st.Size() < headerSize+stateSize {
		return false, nil // never finished
	}
	if err := r.header.mapAll(st.Size()); err != nil {
		return false, err
	}
	if at[Header](r.header.mem, 0).Magic.Load() == 0 {
		return false, nil
	}
	h, err := checkHeader(r.header.mem)
	if err != nil {
		return false, because(err, ErrState, "shm: adopt %q: %v; %s", r.cfg.label(), err, adoptRemedy)
	}
	state := at[State](r.header.mem, h.StateOff).State.Load()
	return state == StateRunning || state == StateEnded, nil
}

// ownerRemedy is what to do about a header that may not be opened: its engine may be running, which only its owner can tell.
func ownerRemedy(path string) string {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || int(st.Uid) == os.Geteuid() {
		return "choose another name"
	}
	return fmt.Sprintf("it is of user %d, whose engine may be running; choose another name, or have that user stop it, or remove it with spdl clean", st.Uid)
}

// mapAll maps a segment that exists.
func (s *segment) mapAll(size int64) error {
	mem, err := mmap.MapRegion(s.file, int(size), mmap.RDWR, 0, 0)
	if err != nil {
		return because(err, ErrSystem, "shm: adopt %q: mmap of %d bytes: %v", s.path, size, err)
	}
	s.mem = mem
	return nil
}

// forgetLeftover undoes adopt: the files stay.
func (r *Ring) forgetLeftover() {
	r.keepNames()
	for _, g := range r.groups {
		g.space.end()
		for _, m := range g.members {
			if m != nil {
				m.release()
			}
		}
		g.seg.close()
	}
	r.groups = nil
	r.data.close()
	r.header.close()
	if r.pidfd != nil {
		_ = r.pidfd.Close()
	}
	r.header, r.data, r.pidfd, r.head, r.state = nil, nil, nil, nil, nil
}

// compare refuses a leftover that differs from the ring we would make, and names every difference.
func (r *Ring) compare() error {
	old, want := at[Header](r.header.mem, 0), &Header{}
	r.describe(want)
	want.BootID = bootID()
	var differs []string
	differ := func(what string, was, now any) {
		if was != now {
			differs = append(differs, fmt.Sprintf("%s %v, now %v", what, was, now))
		}
	}
	layout := func(h *Header) string { return fmt.Sprintf("%d.%d", h.LayoutMajor, h.LayoutMinor) }
	differ("layout", layout(old), layout(want))
	differ("boot", fmt.Sprintf("%x", old.BootID[:4]), fmt.Sprintf("%x", want.BootID[:4]))
	differ("description", fmt.Sprintf("%x", old.SpecHash[:6]), fmt.Sprintf("%x", want.SpecHash[:6]))
	differ("access", nameOf(old.Access, "", "private", "shared"), nameOf(want.Access, "", "private", "shared"))
	for _, f := range []struct {
		what     string
		was, now uint64
	}{
		{"slots", uint64(old.NSlots), uint64(want.NSlots)}, {"tensors", uint64(old.NTensors), uint64(want.NTensors)},
		{"lanes", uint64(old.NLanes), uint64(want.NLanes)}, {"world size", uint64(old.WorldSize), uint64(want.WorldSize)},
		{"first rank", uint64(old.FirstRank), uint64(want.FirstRank)}, {"batch", uint64(old.BatchRows), uint64(want.BatchRows)},
		{"max_consumers", uint64(old.MaxOwners), uint64(want.MaxOwners)},
		{"samples", old.NSamples, want.NSamples}, {"global batch", old.GlobalBatch, want.GlobalBatch},
		{"steps per epoch", old.StepsPerEpoch, want.StepsPerEpoch}, {"epochs", old.NEpochs, want.NEpochs}, {"seed", old.Seed, want.Seed},
		{"bytes per slot", old.SlotStride, want.SlotStride},
	} {
		differ(f.what, f.was, f.now)
	}
	differs = append(differs, r.compareGroups(old)...)
	if len(differs) == 0 {
		differs = r.compareRest(old)
	}
	if len(differs) > 0 {
		return refuse(ErrState, "shm: adopt %q: the ring that engine %d left is another one: %s; %s", r.cfg.label(), old.EnginePID, strings.Join(differs, ", "), adoptRemedy)
	}
	return nil
}

// compareRest compares what has its place in the segment only if the geometry is the same.
func (r *Ring) compareRest(old *Header) (differs []string) {
	const otherFacts = "which samples there are (their names, labels or classes), or other facts"
	g := r.geo
	if old.TextBytes != uint64(len(r.cfg.Text)) {
		return []string{otherFacts}
	}
	if old.HeaderBytes != g.headerBytes || old.TensorOff != g.tensorOff || old.DescOff != g.descOff || old.OwnerOff != g.ownerOff || old.LateOff != g.lateOff || old.LateBytes != g.lateBytes || old.TextOff != g.textOff {
		return []string{fmt.Sprintf("header of %d bytes, now %d, or what lies where in it", old.HeaderBytes, g.headerBytes)}
	}
	if !slices.Equal(manyAt[TensorRecord](r.header.mem, g.tensorOff, len(g.tensors)), g.tensors) {
		differs = append(differs, "tensors")
	}
	if !bytes.Equal(r.header.mem[g.textOff:g.textOff+old.TextBytes], r.cfg.Text) {
		differs = append(differs, otherFacts)
	}
	if st, err := r.header.file.Stat(); err == nil && st.Mode().Perm() != r.cfg.Mode {
		differs = append(differs, fmt.Sprintf("mode %04o, now %04o", st.Mode().Perm(), r.cfg.Mode))
	}
	return differs
}

// compareGroups compares the declared groups.
func (r *Ring) compareGroups(old *Header) (differs []string) {
	declared := map[string]*GroupRecord{}
	for i := range uint64(old.MaxGroups) {
		if rec := at[GroupRecord](r.header.mem, old.GroupOff+old.GroupStride*i); rec.Declared != 0 && rec.State.Load() != GroupAbsent {
			declared[text(rec.Name[:])] = rec
		}
	}
	for _, c := range r.cfg.Groups {
		rec := declared[c.Name]
		switch {
		case rec == nil:
			differs = append(differs, fmt.Sprintf("no group %q, now one", c.Name))
		case Kind(rec.Kind) != c.Kind || Mode(rec.Mode) != c.Mode || Slow(rec.Slow) != c.Slow || (rec.Redeliver == 0) != c.NoRedeliver:
			differs = append(differs, fmt.Sprintf("kind, mode, slow or redeliver of group %q", c.Name))
		}
		delete(declared, c.Name)
	}
	for name := range declared {
		differs = append(differs, fmt.Sprintf("a group %q, now none", name))
	}
	slices.Sort(differs)
	return differs
}

// adoptSegment opens a data or group segment of the dead engine.
func (r *Ring) adoptSegment(name string, size uint64, readOnly bool) (*segment, error) {
	path := filepath.Join(shmDir, name)
	bad := func(err error) error {
		return because(err, ErrState, "shm: adopt %q: %v; %s", path, err, adoptRemedy)
	}
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, bad(err)
	}
	if err := ownFile(file, path); err != nil {
		_ = file.Close()
		return nil, err
	}
	s := &segment{file: file, peer: file, path: path}
	st, err := file.Stat()
	if err == nil && uint64(st.Size()) != size {
		err = fmt.Errorf("%d bytes, want %d", st.Size(), size)
	}
	if err == nil && readOnly {
		s.peer, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err != nil {
			s.peer = file
		}
	}
	if err == nil {
		err = s.mapAll(st.Size())
	}
	if err != nil {
		s.path = ""
		s.close()
		return nil, bad(err)
	}
	return s, nil
}

var groupName = regexp.MustCompile(`\.g([0-9]+)$`)

// removeStrays removes the segments of groups that are no more.
func (r *Ring) removeStrays() error {
	names, err := leftoverNames(r.base)
	for _, name := range names {
		m := groupName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		id, _ := strconv.ParseUint(m[1], 10, 32)
		if !slices.ContainsFunc(r.groups, func(g *group) bool { return uint64(g.rec.ID) == id }) {
			err = errors.Join(err, removeLeftover(name))
		}
	}
	return err
}
