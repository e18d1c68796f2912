package source

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// GuardConfig says how long a read of a file system may take.
type GuardConfig struct {
	Timeout time.Duration
	Stuck   int // reads that may hang at a time; one more ends the run
}

// Guard gives every read of a source a deadline, for file systems that hang when their server does: nothing ends a read that the
// kernel waits in. A read that takes longer is a bad sample, cause deadline, and its reader, a thread, is left behind until the file
// system answers. With too many left behind, Read returns an error that ends the run. Close leaves the source open for those that
// still hang, and the last of them closes it.
//
// Every read is handed to another goroutine and back, which costs a few microseconds.
func Guard(s Source, c GuardConfig) Source {
	g := &guarded{outer: outer{s}, c: c}
	if v, ok := s.(Versioned); ok {
		return &guardedVersions{guarded: g, versions: v}
	}
	return g
}

type guarded struct {
	outer
	c       GuardConfig
	readers sync.WaitGroup // those that do not hang

	mu     sync.Mutex // guards the rest, and a reader's abandoned
	idle   []*reader
	stuck  map[*reader]time.Time // since when
	closed bool
}

// guardedVersions is guarded for a source whose samples have versions.
type guardedVersions struct {
	*guarded
	versions Versioned
}

// reader is a goroutine that reads for others. What it writes belongs to it while it works, and nobody looks at it if it was left
// behind.
type reader struct {
	g         *guarded
	tasks     chan struct{}
	done      chan struct{} // one deep
	timer     *time.Timer
	abandoned bool // whoever waited for it went away

	// Of the task in hand.
	ctx      context.Context
	sample   int64
	identity Versioned // nil: read the sample
	buf      Buffer
	told     []byte
	err      error
}

func (g *guarded) Read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	r, late, err := g.do(ctx, i, nil)
	if err != nil {
		return err
	}
	if late {
		return name(&Error{Cause: Deadline, Detail: fmt.Sprintf("the file system did not answer within %v", g.c.Timeout)}, g, i)
	}
	b.exchange(&r.buf)
	err = r.err
	g.rest(r)
	return err
}

// Identity is that of the source within; nothing where the file system does not answer in time.
func (g *guardedVersions) Identity(i int64, dst []byte) []byte {
	r, late, err := g.do(context.Background(), i, g.versions)
	if late || err != nil {
		return nil
	}
	defer g.rest(r)
	if len(r.told) == 0 {
		return nil
	}
	return append(dst, r.told...)
}

// do has a reader read a sample, or its identity. It is the caller's until rest, unless it was late.
func (g *guarded) do(ctx context.Context, i int64, identity Versioned) (r *reader, late bool, err error) {
	if r, err = g.reader(); err != nil {
		return nil, false, err
	}
	r.ctx, r.sample, r.identity = ctx, i, identity
	r.timer.Reset(g.c.Timeout)
	r.tasks <- struct{}{}
	select {
	case <-r.done:
	case <-r.timer.C:
		late = !g.abandon(r)
	case <-ctx.Done():
		if !g.abandon(r) {
			return nil, false, ctx.Err()
		}
	}
	r.timer.Stop()
	return r, late, nil
}

// rest makes a reader one that is idle.
func (g *guarded) rest(r *reader) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = append(g.idle, r)
}

func (r *reader) work() {
	if r.identity != nil {
		r.told = r.identity.Identity(r.sample, r.told[:0])
		return
	}
	r.err = r.g.Source.Read(r.ctx, r.sample, &r.buf)
}

// reader is one that is idle, or a new one, unless too many hang.
func (g *guarded) reader() (*reader, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.idle); n > 0 {
		r := g.idle[n-1]
		g.idle = g.idle[:n-1]
		return r, nil
	}
	if len(g.stuck) >= g.c.Stuck {
		return nil, g.hangs()
	}
	r := &reader{g: g, tasks: make(chan struct{}), done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	g.readers.Add(1)
	go r.run()
	return r, nil
}

// hangs is the error that ends a run.
func (g *guarded) hangs() error {
	var oldest *reader
	for r, since := range g.stuck {
		if oldest == nil || since.Before(g.stuck[oldest]) {
			oldest = r
		}
	}
	return fmt.Errorf("source: the file system hangs: %d reads have not returned, the oldest of sample %d %q for %v; see to its server, or raise source.local_timeout",
		len(g.stuck), oldest.sample, g.Key(oldest.sample, nil), time.Since(g.stuck[oldest]).Round(time.Millisecond))
}

// abandon leaves a reader behind; true: it has just been done after all.
func (g *guarded) abandon(r *reader) (done bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-r.done:
		return true
	default:
	}
	r.abandoned = true
	if g.stuck == nil {
		g.stuck = map[*reader]time.Time{}
	}
	g.stuck[r] = time.Now()
	g.readers.Done()
	return false
}

func (r *reader) run() {
	for range r.tasks {
		r.work()
		if !r.g.finished(r) {
			return
		}
	}
	r.timer.Stop()
	r.g.readers.Done()
}

// finished hands a reader back to whoever waits for it, or, if nobody does, to those that are idle; false: the source is closed, and
// nobody will ask again.
func (g *guarded) finished(r *reader) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !r.abandoned {
		r.done <- struct{}{}
		return true
	}
	r.abandoned = false
	delete(g.stuck, r)
	if !g.closed {
		g.readers.Add(1)
		g.idle = append(g.idle, r)
		return true
	}
	r.timer.Stop()
	if len(g.stuck) == 0 {
		_ = g.Source.Close() // nobody is left to be told
	}
	return false
}

// Close ends the readers that do not hang.
func (g *guarded) Close() error {
	g.mu.Lock()
	for _, r := range g.idle {
		close(r.tasks)
	}
	g.idle, g.closed = nil, true
	stuck := len(g.stuck)
	g.mu.Unlock()
	g.readers.Wait()
	if stuck > 0 {
		return fmt.Errorf("source: %d reads of a file system that hangs have not returned; their files stay open", stuck)
	}
	return g.Source.Close()
}

// exchange gives each of two buffers what the other has of a sample.
func (b *Buffer) exchange(o *Buffer) {
	b.mem, o.mem = o.mem, b.mem
	b.parts, o.parts = o.parts, b.parts
	b.placed, o.placed = o.placed, b.placed
	b.columns, o.columns = o.columns, b.columns
	b.values, o.values = o.values, b.values
	b.sides, o.sides = o.sides, b.sides
}

// fileSystems that hang when a server does, by their magic numbers.
var fileSystems = map[int64]string{
	0x6969: "nfs", 0x517b: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x00c36400: "ceph", 0x65735546: "fuse", 0x01021997: "9p",
	0x0bd00bd0: "lustre", 0x47504653: "gpfs", 0x5346414f: "afs", 0x6b414653: "kafs", 0x7461636f: "ocfs2", 0x01161970: "gfs2", 0x19830326: "beegfs",
}

// NetworkFileSystem is the kind of the file system that a path, up to its first brace or glob, lies on, or empty where it is a
// disk's or memory's.
func NetworkFileSystem(path string) string {
	if at := strings.IndexAny(path, "{*?["); at >= 0 {
		path = path[:strings.LastIndexByte(path[:at], '/')+1]
	}
	if path == "" {
		path = "."
	}
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	for err == unix.ENOTDIR { // an array within an archive is on what the archive is on
		path = filepath.Dir(path)
		err = unix.Statfs(path, &st)
	}
	if err != nil {
		return "" // opening it will say why
	}
	return fileSystems[int64(st.Type)&0xffffffff]
}
