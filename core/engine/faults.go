package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/shm"
)

// Samples that were bad for a cause that depends on time (the storage or a device failed, memory or time was short) are written beside the journal, so that a
// batch can be made again exactly as it was delivered. A line is a batch; a later line about the same rows is the one that counts,
// also one that says that all of them were good. It is written before the batch is published, so whoever has the batch finds it there
// even if the engine was killed; it is not synced.

const (
	faultsEnding = ".faults"
	maxFaults    = 64 << 20 // bytes of the file
	maxFaultRows = 1 << 20  // of a batch
	faultsRemedy = "restore the file, or remove it to go without"
)

// FaultsPath is the file of faults that belongs to a journal.
func FaultsPath(journal string) string { return journal + faultsEnding }

// A Fault is a sample that could not be read when its batch was made.
type Fault struct {
	At     int64  `json:"at"` // place in the epoch's order
	Sample int64  `json:"sample"`
	Cause  string `json:"cause"`

	Documents []int64 `json:"documents,omitempty"` // that the row was made without; none: there was no row
}

// faultLine is a line of the file.
type faultLine struct {
	Ring  string  `json:"ring"`
	Epoch int64   `json:"epoch"`
	From  int64   `json:"from"` // place of the batch's first row in the epoch's order
	Rows  int64   `json:"rows"` // planned
	Bad   []Fault `json:"bad"`
}

// rowPlace is the place of a row, the same at every world size.
type rowPlace struct{ epoch, at int64 }

// Faults are those of one ring.
type Faults struct {
	all map[rowPlace]Fault
}

// Of are the faults among rows of an epoch's order, ascending.
func (f *Faults) Of(epoch, from, rows int64) (all []Fault) {
	if f == nil || len(f.all) == 0 {
		return nil
	}
	for at := from; at < from+rows; at++ {
		if one, ok := f.all[rowPlace{epoch, at}]; ok {
			all = append(all, one)
		}
	}
	return all
}

// take makes a line the one that counts.
func (f *Faults) take(l *faultLine) {
	for at := l.From; at < l.From+l.Rows; at++ {
		delete(f.all, rowPlace{l.Epoch, at})
	}
	for _, one := range l.Bad {
		f.all[rowPlace{l.Epoch, one.At}] = one
	}
}

// parseFaults calls take with the lines of a file of faults, up to the end of the last whole one, which it returns: an engine that was killed while
// it wrote another had not published that batch.
func parseFaults(data []byte, take func(l *faultLine)) (whole int, err error) {
	if len(data) > maxFaults {
		return 0, fmt.Errorf("got %d bytes, want at most %d; %s", len(data), maxFaults, faultsRemedy)
	}
	whole = bytes.LastIndexByte(data, '\n') + 1
	for n, left := 1, data[:whole]; len(left) > 0; n++ {
		var text []byte
		text, left, _ = bytes.Cut(left, []byte("\n"))
		var l faultLine
		err := json.Unmarshal(text, &l)
		if err == nil {
			err = l.check()
		}
		if err != nil {
			return 0, fmt.Errorf("line %d: %w; %s", n, err, faultsRemedy)
		}
		take(&l)
	}
	return whole, nil
}

// check refuses what no engine writes.
func (l *faultLine) check() error {
	if l.From < 0 || l.Rows < 0 || l.Rows > maxFaultRows || l.From > math.MaxInt64-l.Rows || len(l.Bad) > int(l.Rows) {
		return fmt.Errorf("got %d faults in %d rows from %d on", len(l.Bad), l.Rows, l.From)
	}
	for _, one := range l.Bad {
		if one.At < l.From || one.At >= l.From+l.Rows {
			return fmt.Errorf("got a fault at %d, want one of %d rows from %d on", one.At, l.Rows, l.From)
		}
	}
	return nil
}

// ReadFaults reads what a journal's engine has written about a ring; "" is the only one. Without a file there are none.
func ReadFaults(journal, ring string) (*Faults, error) {
	f := &Faults{all: map[rowPlace]Fault{}}
	path := FaultsPath(journal)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("engine: faults: %w", err)
	}
	_, err = parseFaults(data, func(l *faultLine) {
		if l.Ring == ring {
			f.take(l)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("engine: faults %q: %w", path, err)
	}
	return f, nil
}

// faultFile is the file while an engine writes it.
type faultFile struct {
	mu    sync.Mutex // guards the rest
	file  *os.File
	made  bool // by this engine; false once it is settled whether it stays
	bytes int64
	known map[string]map[rowPlace]bool // by ring: batches, by their first rows, that there is a line of
	told  map[string]*Faults           // by ring: what the lines say
}

// openFaults goes on with the file of a journal, or begins it anew. Its lock is the journal's: whoever has it writes both.
func openFaults(ctx context.Context, journal string, fresh bool) (*faultFile, error) {
	file, made, err := lockFaults(ctx, journal)
	if err != nil {
		return nil, err
	}
	f := &faultFile{file: file, made: made, known: map[string]map[rowPlace]bool{}, told: map[string]*Faults{}}
	if fresh {
		err = file.Truncate(0)
	} else {
		err = f.readBack()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("engine: faults %q: %w", file.Name(), err), f.close())
	}
	return f, nil
}

// lockFaults opens the file and takes its lock. Who had it before may have taken the file away meanwhile; then there is another.
func lockFaults(ctx context.Context, journal string) (file *os.File, made bool, err error) {
	for path := FaultsPath(journal); ; {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
		if made = errors.Is(err, fs.ErrNotExist); made {
			file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		}
		if made && errors.Is(err, fs.ErrExist) {
			if _, err := os.Stat(path); err == nil { // another engine's, of this moment
				continue
			}
		}
		if err != nil {
			return nil, false, fmt.Errorf("engine: journal %q: the file of faults beside it: %w; %s", journal, err, journalRemedy)
		}
		if err := lockJournal(ctx, journal, file); err != nil {
			return nil, false, errors.Join(err, file.Close())
		}
		locked, err := file.Stat()
		now, missing := os.Stat(path)
		if err == nil && missing == nil && os.SameFile(locked, now) {
			return file, made, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, false, fmt.Errorf("engine: journal %q: the file of faults beside it: %w", journal, err)
		}
	}
}

// readBack finds out which batches there are lines of, and cuts a torn last line off.
func (f *faultFile) readBack() error {
	data, err := os.ReadFile(f.file.Name())
	if err != nil {
		return err
	}
	whole, err := parseFaults(data, f.know)
	if err != nil {
		return refuse(shm.ErrState, nil, "%v", err)
	}
	if f.bytes = int64(whole); whole < len(data) {
		return f.file.Truncate(int64(whole))
	}
	return nil
}

func (f *faultFile) know(l *faultLine) {
	if f.known[l.Ring] == nil {
		f.known[l.Ring], f.told[l.Ring] = map[rowPlace]bool{}, &Faults{all: map[rowPlace]Fault{}}
	}
	f.known[l.Ring][rowPlace{l.Epoch, l.From}] = true
	f.told[l.Ring].take(l)
}

// of is the fault that a row of a ring had when its batch was last made; none without a file.
func (f *faultFile) of(ring string, epoch, at int64) []Fault {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.told[ring].Of(epoch, at, 1)
}

// write adds a line, if the batch has faults or had some when it was made before.
func (f *faultFile) write(l *faultLine) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(l.Bad) == 0 && !f.known[l.Ring][rowPlace{l.Epoch, l.From}] {
		return nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if f.bytes+int64(len(text))+1 > maxFaults {
		return fmt.Errorf("engine: faults %q: got %d bytes, want at most %d; move the file away", f.file.Name(), f.bytes, maxFaults)
	}
	if _, err := f.file.Write(append(text, '\n')); err != nil { // of a full disk perhaps after a part, behind which the next line would be lost
		return fmt.Errorf("engine: faults: %w", errors.Join(err, f.file.Truncate(f.bytes)))
	}
	f.bytes += int64(len(text)) + 1
	f.know(l)
	return nil
}

// release gives the journal's lock back, once nothing is written any more. Without a journal beside it, a file that this engine has made and
// written nothing in goes with it: an engine that was refused has left nothing.
func (f *faultFile) release(journalled bool) {
	if f == nil {
		return
	}
	if f.made && f.bytes == 0 && !journalled {
		_ = os.Remove(f.file.Name()) // an empty file more
	}
	f.made = false // the next engine may have it from here on
	unlock(f.file)
}

func (f *faultFile) close() error {
	if f == nil {
		return nil
	}
	unlock(f.file)
	return f.file.Close()
}

// noteFaults writes down which samples of a batch that is about to be published were bad for a cause that depends on time.
// planned is how many rows it was to have.
func (r *ring) noteFaults(w *work, planned int) {
	if r.engine.faults == nil {
		return
	}
	l := faultLine{Ring: r.ringName, Epoch: int64(w.Epoch), From: w.from, Rows: int64(planned), Bad: []Fault{}}
	for i := range w.Bad {
		if b := &w.Bad[i]; b.Timed {
			l.Bad = append(l.Bad, Fault{At: l.From + int64(b.Row), Sample: b.Sample, Cause: b.Cause, Documents: b.Lacks})
		}
	}
	if err := r.engine.faults.write(&l); err != nil {
		r.engine.log.Errorf(r.name, "%v; this batch cannot be made again exactly: epoch %d, step %d", err, w.Epoch, w.Step)
	}
}

// retold is the fault that a row had when its batch was made before, by the engine that is replayed or by this one; ok is false where it
// had none, or nobody has told.
func (r *ring) retold(w *work, row int) (told Fault, ok bool) {
	if r.engine.retold == nil && !(w.again && r.engine.faults != nil) {
		return told, false
	}
	at := w.from + int64(row)
	found := r.engine.retold.Of(int64(w.Epoch), at, 1)
	if w.again && found == nil {
		found = r.engine.faults.of(r.ringName, int64(w.Epoch), at)
	}
	k := slices.IndexFunc(found, func(f Fault) bool { return f.Sample == w.Samples[row] })
	if k < 0 {
		return told, false
	}
	return found[k], true
}

// bad is the fault again, of a row that there was not.
func (f *Fault) bad(row int) batch.Bad {
	err := fmt.Errorf("sample %d: bad, cause %s, when its batch was delivered, as the journal says", f.Sample, f.Cause)
	return batch.Bad{Row: row, Sample: f.Sample, Cause: f.Cause, Err: err, Timed: true}
}
