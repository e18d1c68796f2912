package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/shm"
)

// A journal is a file that says how far each ring's groups have come, for an engine that has nothing to adopt: after a reboot,
// or with nameless memory. It is written beside itself, synced, and renamed, at most every journalEvery and once more at an
// orderly end, so that it is always whole and at most that old. What was completed since comes again: at least once.

const (
	journalVersion = 1
	journalEvery   = 500 * time.Millisecond
	complainEvery  = time.Minute
	maxJournal     = 16 << 20
	trialBytes     = 64 << 10
	journalLook    = 512 // bytes of a file in which its first key is

	journalRemedy = "make room, or name one in a directory in which this user may make files (key journal, or --journal)"
)

// journalFile is the file. Checksum is of Rings as it is written.
type journalFile struct {
	Version  int             `json:"spdl_journal"`
	Name     string          `json:"name"` // of the engine
	Checksum string          `json:"crc32"`
	Rings    json.RawMessage `json:"rings"` // state by ring name; "" is the only one
}

type journal struct {
	path, name string
	written    []byte // Rings as last written
}

func (j *journal) refuse(format string, args ...any) error {
	return refuse(shm.ErrState, nil, "engine: journal %q: %s; restore it, or begin anew with --fresh", j.path, fmt.Sprintf(format, args...))
}

// ours refuses what no engine has written. A journal is replaced whole, with --fresh and --state unread: whatever else has its name would be gone.
// What a full disk or a power cut leaves of one is ours.
func (j *journal) ours() error {
	st, err := os.Stat(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !st.Mode().IsRegular() {
		return j.foreign("it is no file")
	}
	start, err := startOf(j.path, journalLook)
	if err != nil {
		return fmt.Errorf("engine: journal: %w", err)
	}
	text := strings.Trim(start, "\x00 \t\r\n")
	if !strings.HasPrefix(`{"spdl_journal"`, text) && !(text[0] == '{' && strings.Contains(text, `"spdl_journal"`)) {
		return j.foreign(fmt.Sprintf("no journal: got a file that begins with %.20q, want one with the key spdl_journal", text))
	}
	return nil
}

// startOf is the beginning of a file, n bytes of it at most.
func startOf(path string, n int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	start, err := io.ReadAll(io.LimitReader(file, n))
	return string(start), errors.Join(err, file.Close())
}

func (j *journal) foreign(what string) error {
	return refuse(shm.ErrState, nil, "engine: journal %q: %s; name another file, or move this one away", j.path, what)
}

// read returns each ring's state; nil when there is no file yet. Whatever else is there is believed whole or refused: a
// run must not begin anew because a disk was full.
func (j *journal) read() (map[string]json.RawMessage, error) {
	st, err := os.Stat(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && st.Size() > maxJournal {
		return nil, j.refuse("got %d bytes, want at most %d", st.Size(), maxJournal)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(j.path)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: journal: %w", err)
	}
	return j.parse(data)
}

func (j *journal) parse(data []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, j.refuse("it is empty")
	}
	var f journalFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, j.refuse("torn or no journal: %v", err)
	}
	switch sum := checksum(f.Rings); {
	case f.Version != journalVersion:
		return nil, j.refuse("version %d, this build reads %d", f.Version, journalVersion)
	case f.Checksum != sum:
		return nil, j.refuse("damaged: checksum %s, says %s", sum, f.Checksum)
	case f.Name != j.name:
		return nil, j.refuse("it is of engine %q, this is %q", f.Name, j.name)
	}
	var rings map[string]json.RawMessage
	if err := json.Unmarshal(f.Rings, &rings); err != nil {
		return nil, j.refuse("rings: %v", err)
	}
	return rings, nil
}

func checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b)) }

// write replaces the file if the rings have moved.
func (j *journal) write(states map[string]json.RawMessage) error {
	rings, err := json.Marshal(states) // sorted by name, without space: what Unmarshal gives back as Rings
	if err != nil || bytes.Equal(rings, j.written) {
		return err
	}
	data, err := json.Marshal(journalFile{journalVersion, j.name, checksum(rings), rings})
	if err != nil {
		return err
	}
	if err := j.replace(append(data, '\n')); err != nil {
		return fmt.Errorf("journal: %w; an engine that goes on from what is there gives again what was completed since it was written; make room, or name another file", err)
	}
	j.written = rings
	return nil
}

// replace writes and syncs a file beside the journal, renames it, and syncs the directory: after a power cut there is the
// old journal or the new one.
func (j *journal) replace(data []byte) (err error) {
	dir := filepath.Dir(j.path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(j.path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = shm.Fault("journal.write")
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = shm.Fault("journal.rename"); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), j.path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// try writes as much as a journal takes beside it and removes it again: what cannot be written is better known before the run than at its end.
func (j *journal) try() error {
	f, err := os.CreateTemp(filepath.Dir(j.path), "."+filepath.Base(j.path)+".*")
	if err == nil {
		_, err = f.Write(make([]byte, trialBytes))
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return fmt.Errorf("engine: journal %q: a trial write beside it: %w; %s", j.path, err, journalRemedy)
	}
	return nil
}

// ---- the engine's part ---------------------------------------------------------------------------

// openJournal reads where to go on, unless the caller has said so.
func (e *Engine) openJournal(o *Options) (states map[string]json.RawMessage, err error) {
	path := o.Journal
	if path == "" {
		path = e.spec.Journal
	}
	if path == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("engine: journal %q: its directory: %w", path, err)
	}
	e.journal = &journal{path: path, name: e.spec.Name}
	if err := e.journal.ours(); err != nil {
		return nil, err
	}
	if !o.Trial { // an engine that serves the description may have them
		if e.faults, err = openFaults(e.openCtx, path, o.Fresh); err != nil {
			return nil, err
		}
		e.removeTorn()
	}
	if err := e.journal.try(); err != nil {
		return nil, err
	}
	if o.Fresh || o.State != nil {
		return nil, nil
	}
	if states, err = e.journal.read(); err != nil || states == nil {
		return nil, err
	}
	for _, s := range e.spec.All() {
		if _, ok := states[s.RingName]; !ok {
			return nil, e.journal.refuse("it has nothing on ring %q", s.FullName())
		}
	}
	if len(states) != len(e.spec.All()) {
		return nil, e.journal.refuse("it is of %d rings, this engine has %d", len(states), len(e.spec.All()))
	}
	return states, nil
}

// removeTorn removes what engines that were killed while they wrote have left beside the journal: files of its name behind a dot
// and with a number behind it, as os.CreateTemp makes them. Whatever else has such a name is somebody's.
func (e *Engine) removeTorn() {
	dir, name := filepath.Split(e.journal.path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return // a stray file more
	}
	for _, file := range entries {
		number, found := strings.CutPrefix(file.Name(), "."+name+".")
		if _, err := strconv.ParseUint(number, 10, 64); found && err == nil {
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	}
}

// keepJournal writes the journal until stop is closed, and then once more. A ring that nobody has been attached to is where it began;
// while that goes for all of them the file stays as it is. It returns why the last write failed.
func (e *Engine) keepJournal(stop <-chan struct{}) (failure error) {
	tick := time.NewTicker(journalEvery)
	defer tick.Stop()
	states := map[string]json.RawMessage{}
	for _, r := range e.rings {
		if r.beginning != nil {
			states[r.ringName] = r.beginning
		}
	}
	var said complaint
	moved := false
	for last := false; ; {
		for _, r := range e.rings {
			if state, ok := r.journalState(); ok {
				states[r.ringName], moved = state, true
			}
		}
		if moved && len(states) == len(e.rings) {
			failure = e.writeJournal(states, &said)
		}
		if last {
			return failure
		}
		select {
		case <-tick.C:
		case <-stop:
			last = true
		}
	}
}

// writeJournal writes it, and says in the log what is new of that.
func (e *Engine) writeJournal(states map[string]json.RawMessage, said *complaint) error {
	failure := e.journal.write(states)
	switch due := said.due(failure, time.Now()); {
	case due && failure != nil:
		e.log.Errorf("", "%v", failure)
	case due:
		e.log.Infof("", "journal: it is written again")
	}
	return failure
}

// complaint is why the journal was not written, as it was last said; "": it was.
type complaint struct {
	why string
	at  time.Time
}

// due tells whether the end of a write is worth a line: a failure unlike the one before, the same one for every complainEvery that it lasts, and the
// first write that goes well again.
func (c *complaint) due(failure error, now time.Time) bool {
	why := ""
	if errno := syscall.Errno(0); errors.As(failure, &errno) { // what stands around it names another temporary file each time
		why = errno.Error()
	} else if failure != nil {
		why = failure.Error()
	}
	if why == c.why && (why == "" || now.Sub(c.at) < complainEvery) {
		return false
	}
	*c = complaint{why, now}
	return true
}

// progress is what a group has completed: every step below low, and those in done, ascending.
type progress struct {
	low  int64
	done []int64
}

// progressOf is a group's.
func (r *ring) progressOf(p shm.Progress) progress {
	step, later := completedSteps(p, r.lanes, 0, r.lanes)
	return progress{r.afterEnd(step), later}
}

// journalState is the position that every group of the ring's consumers has reached: what is completed in all of them. Without one it is
// that of those which have ended since it was last asked for. ok is false, and the journal stays as it is, if there is none either, or one
// whose books nobody can read.
func (r *ring) journalState() (state json.RawMessage, ok bool) {
	ended := r.newlyEnded() // before the others are looked at: a group that ends meanwhile is found the next time
	var all []progress
	for _, g := range r.shm.Groups() {
		if g.Kind != shm.KindConsumer || g.State == shm.GroupClosed { // whose consumers may stay for as long as they like
			continue
		}
		p, err := r.shm.Progress(g.Index, 0, nil)
		if err != nil {
			return nil, false
		}
		all = append(all, r.progressOf(p))
	}
	if len(all) == 0 {
		all = ended
	}
	if len(all) == 0 {
		return nil, false
	}
	low, done := all[0].low, all[0].done
	for _, p := range all[1:] {
		low, done = both(low, done, p.low, p.done)
	}
	named, _ := r.stateOf(low, done) // what it does not name comes again
	return named.JSON(), true
}

// newlyEnded is how far the groups of consumers had come that have ended since it was last asked for.
func (r *ring) newlyEnded() (all []progress) {
	known := map[uint32]bool{}
	for _, g := range r.shm.PastGroups() {
		known[g.ID] = true
		if g.Kind == shm.KindConsumer && g.State == shm.GroupClosed && !r.pastGroups[g.ID] {
			all = append(all, r.progressOf(g.Done))
		}
	}
	r.pastGroups = known
	return all
}

// both is what two groups have completed: every step below low, and those in done.
func both(low int64, done []int64, low2 int64, done2 []int64) (int64, []int64) {
	if low > low2 {
		low, done, low2, done2 = low2, done2, low, done
	}
	done = slices.DeleteFunc(slices.Clone(done), func(s int64) bool {
		_, is := slices.BinarySearch(done2, s)
		return s >= low2 && !is
	})
	return low, done
}

// ---- what the next engine has to know -------------------------------------------------------------

// aheadNote is the steps ahead as text, for the engine that adopts the ring; those that do not fit come again.
func aheadNote(ahead []int64, limit int) []byte {
	for n := len(ahead); ; n /= 2 {
		if note, err := json.Marshal(sampler.Steps(ahead[:n])); err == nil && len(note) <= limit {
			return note
		}
	}
}

func parseAhead(note []byte) []int64 {
	var ahead sampler.Steps
	if json.Unmarshal(note, &ahead) != nil {
		return nil // none was written
	}
	return ahead
}

// keepNote leaves a note of the state that the ring goes on from.
func (r *ring) keepNote() error {
	r.mu.Lock()
	note := aheadNote(r.ahead, shm.MaxNote)
	r.mu.Unlock()
	return r.shm.SetNote(note)
}

// adopted takes up what the dead engine had noted, and says where the ring goes on.
func (r *ring) adopted() {
	r.mu.Lock()
	r.ahead = parseAhead(r.shm.Note())
	r.mu.Unlock()
	info := r.shm.Info()
	r.judgedBelow = info.NextTicket
	if len(info.Late) > 0 { // what had passed them was judged
		r.judgedBelow = info.Late[0]
		for ticket := r.judgedBelow; ticket < info.NextTicket; ticket++ {
			r.judged[ticket] = true
		}
		for _, ticket := range info.Late {
			delete(r.judged, ticket)
		}
	}
	step := int64(r.judgedBelow / uint64(r.lanes))
	consumers := 0
	for _, g := range r.shm.Groups() {
		consumers += len(g.Members)
	}
	log, lost := r.engine.log.Infof, ""
	if n := r.passedOver(info.NextTicket); n > 0 {
		log = r.engine.log.Warnf
		lost = fmt.Sprintf("; %d batches before that will not come: their group ended with its last member, and they were not completed; declare the group, and it keeps them", n)
	}
	log(r.name, "went on with the ring of an engine that died: epoch %d, step %d, %d consumers attached%s; --fresh would begin anew",
		step/r.order.StepsPerEpoch(), step%r.order.StepsPerEpoch(), consumers, lost)
}

// passedOver counts the batches below next that the groups which ended with the dead engine had not completed, where no other
// group is left to get them.
func (r *ring) passedOver(next uint64) uint64 {
	for _, g := range r.shm.Groups() {
		if g.Kind == shm.KindConsumer {
			return 0
		}
	}
	n, ended := next, false
	for _, g := range r.shm.PastGroups() {
		if g.Kind == shm.KindConsumer && g.Done.Next <= next {
			n, ended = min(n, next-g.Done.Next+uint64(len(g.Done.Open))), true
		}
	}
	if !ended {
		return 0
	}
	return n
}

// goOnFromJournal makes a journalled state the ring's beginning.
func (r *ring) goOnFromJournal(data json.RawMessage) (*sampler.State, error) {
	state, err := r.parseState(data)
	if err != nil {
		return nil, r.engine.journal.refuse("%v", err)
	}
	return state, nil
}
