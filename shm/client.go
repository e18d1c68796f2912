package shm

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	mmap "github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// AnyLane asks for whichever lane of a lanes group is free.
const AnyLane = -1

// AttachOptions say how to attach. The zero value joins the only declared group, or makes a group of its own.
type AttachOptions struct {
	Group     string
	Mode      Mode // 0: the group's, ModeShared for a new one
	Lane      int  // of a lanes group: a number, or AnyLane
	MaxLeases int  // 0: 4, or as many as the ring has left
	Handoff   bool // leases may be released by others than who acquires: wait instead of ErrLeases and ErrUndone
	Client    string
}

const welcomeFDs = 6

// Attach becomes a consumer of NAME, NAME/RING or the socket at an absolute path. It blocks until the engine has
// answered or ctx ends.
//
// It returns ErrNotFound, ErrDenied, ErrBusy with the numbers, ErrVersion, ErrFormat.
func Attach(ctx context.Context, name string, opts AttachOptions) (*Reader, error) {
	conn, ring, err := dialNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := attachConn(ctx, conn, ring, opts)
	if err == nil {
		r.search.address = name
	}
	return r, err
}

// dialNamed is dialEngine for who has the name from a person: where no engine has it, the error says which there are.
func dialNamed(ctx context.Context, name string) (*net.UnixConn, string, error) {
	conn, ring, err := dialEngine(ctx, name)
	if !errors.Is(err, ErrNotFound) || strings.HasPrefix(name, "/") {
		return conn, ring, err
	}
	sockets, _ := RunningSockets() // of a directory that is refused the error tells already
	if len(sockets) == 0 {
		return nil, "", err
	}
	for i, path := range sockets {
		sockets[i] = strings.TrimSuffix(filepath.Base(path), ".sock")
	}
	slices.Sort(sockets)
	return nil, "", because(err, ErrNotFound, "%v, or attach to one that runs: %s", err, strings.Join(sockets, ", "))
}

// dialEngine connects to the engine that NAME, NAME/RING or an absolute path means, and tells which ring was named.
func dialEngine(ctx context.Context, name string) (conn *net.UnixConn, ring string, err error) {
	path, ring, err := findSocket(name)
	if err != nil {
		return nil, "", err
	}
	conn, err = dial(ctx, path)
	return conn, ring, err
}

func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixpacket", path)
	switch {
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return nil, because(err, ErrNotFound, "shm: attach %q: no engine answers there; start one with spdl serve", path)
	case errors.Is(err, os.ErrPermission):
		return nil, because(err, ErrDenied, "shm: attach %q: %v; run as the engine's user", path, err)
	case err != nil:
		return nil, because(err, ErrSystem, "shm: attach %q: %v", path, err)
	}
	return c.(*net.UnixConn), nil
}

// AttachRing becomes a consumer of another ring of the reader's engine, or of the same one in another group; also where the engine has no
// socket. "" is the first. An engine that lives for its owner lives for the new reader, too. It returns what Attach does, and
// ErrUnsupported where the engine is older than the call.
func (r *Reader) AttachRing(ctx context.Context, ring string, opts AttachOptions) (*Reader, error) {
	if r.header.LayoutMinor < 6 {
		return nil, refuse(ErrUnsupported, "shm: attach: the engine of ring %q is of layout %d.%d, want 1.6; attach by name", text(r.header.Name[:]), r.header.LayoutMajor, r.header.LayoutMinor)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, because(err, ErrSystem, "shm: attach: a socket pair: %v", err)
	}
	conn, err := connOf(os.NewFile(uintptr(ends[0]), "control"))
	if err == nil {
		_, err = r.call(ctx, msgConnect, nil, ends[1])
	}
	_ = unix.Close(ends[1])
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return nil, err
	}
	other, err := attachConn(ctx, conn, ring, opts)
	if err == nil {
		other.search.address = r.search.address
	}
	return other, err
}

// ringName is the ring's name within its engine.
func (r *Reader) ringName() string {
	_, ring, _ := strings.Cut(text(r.header.Name[:]), "/")
	return ring
}

// AttachFD attaches over a connected socket, as the parent of a child engine does. It takes the descriptor.
func AttachFD(ctx context.Context, control *os.File, opts AttachOptions) (*Reader, error) {
	conn, err := connOf(control)
	if err != nil {
		return nil, err
	}
	return attachConn(ctx, conn, "", opts)
}

func attachConn(ctx context.Context, conn *net.UnixConn, ring string, opts AttachOptions) (*Reader, error) {
	h := Hello{
		LayoutMajor: LayoutMajor, LayoutMinor: LayoutMinor, PID: uint32(os.Getpid()), Mode: uint32(opts.Mode),
		Lane: int32(opts.Lane), MaxLeases: uint32(opts.MaxLeases), Flags: helloPIDFD,
	}
	if opts.Client == "" {
		opts.Client = "go"
	}
	copy(h.Group[:nameBytes-1], opts.Group)
	copy(h.Ring[:nameBytes-1], ring)
	copy(h.Client[:len(h.Client)-1], opts.Client)
	c := &caller{conn: conn}
	m, err := c.hello(ctx, &h)
	if err != nil {
		_ = c.detach() // the engine may have answered after we gave up
		return nil, err
	}
	r, err := newReader(c, m, opts)
	if err != nil {
		m.closeFDs()
		_ = c.detach() // we are a member: without a word our lane and leases stay reserved while this process lives
		return nil, err
	}
	return r, nil
}

// errHungUp tells a connection that ended from an engine that says of another that it is lost.
var errHungUp = errors.New("shm: hung up")

// caller is the client's end of a control connection.
type caller struct {
	conn     *net.UnixConn
	id       uint32
	patience time.Duration // for an answer; 0: 10 s
}

func (c *caller) hello(ctx context.Context, h *Hello) (*message, error) {
	self, err := SelfPIDFD()
	if err != nil {
		return nil, fmt.Errorf("shm: attach: %w", err)
	}
	defer self.Close()
	m, err := c.call(ctx, msgHello, bytesOf(h), []int{int(self.Fd())}, welcomeFDs)
	if err != nil {
		return nil, err
	}
	if m.Type != msgWelcome || len(m.fds) != welcomeFDs {
		m.closeFDs()
		return nil, refuse(ErrFormat, "shm: attach: answer of type %d with %d descriptors, want a welcome with %d", m.Type, len(m.fds), welcomeFDs)
	}
	return m, nil
}

// call sends a request and waits for its answer. A refusal comes back as the error it says.
func (c *caller) call(ctx context.Context, kind uint16, payload []byte, fds []int, wantFDs int) (*message, error) {
	_ = c.conn.SetDeadline(time.Now().Add(cmp.Or(c.patience, 10*time.Second)))
	// The end of ctx is heard of from ctx alone: a deadline of its own here may ring before ctx says that it is over.
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })()
	c.id++
	if err := send(c.conn, Msg{Type: kind, ID: c.id}, payload, fds); err != nil && !isHangUp(err) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, because(err, ErrSystem, "shm: control: send request %d: %v", kind, err)
	}
	m, err := c.answer(wantFDs)
	switch {
	case err != nil && isHangUp(err):
		return nil, because(errHungUp, ErrEngineLost, "shm: control: the engine hung up; see its log")
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, because(err, ErrSystem, "shm: control: answer to request %d: %v", kind, err)
	case m.Type == msgError:
		m.closeFDs()
		return nil, answerError(m)
	case m.ID != c.id:
		m.closeFDs()
		return nil, refuse(ErrFormat, "shm: control: answer %d to request %d", m.ID, c.id)
	}
	return m, nil
}

// answer is the next message that is not the late answer to a request that was given up.
func (c *caller) answer(wantFDs int) (*message, error) {
	for {
		m, err := receive(c.conn, make([]byte, msgMax+1), max(wantFDs, 1))
		if err != nil || m.ID == 0 || m.ID >= c.id {
			return m, err
		}
		m.closeFDs()
	}
}

func epochAnswer(m *message) (uint64, error) {
	if len(m.payload) != 8 {
		return 0, refuse(ErrFormat, "shm: control: answer of %d bytes, want an epoch", len(m.payload))
	}
	return binary.LittleEndian.Uint64(m.payload), nil
}

// Operator asks a running engine as its user or root, without becoming a consumer.
type Operator struct{ c caller }

// Operate connects to the engine NAME or the socket at an absolute path.
func Operate(ctx context.Context, name string) (*Operator, error) {
	conn, _, err := dialNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Operator{caller{conn: conn}}, nil
}

// Close hangs up.
func (o *Operator) Close() error { return o.c.conn.Close() }

// Stats are the engine's counters as JSON.
func (o *Operator) Stats(ctx context.Context) ([]byte, error) {
	m, err := o.c.call(ctx, msgStats, nil, nil, 0)
	if err != nil {
		return nil, err
	}
	return m.payload, nil
}

// Stop asks for an orderly stop.
func (o *Operator) Stop(ctx context.Context) error {
	_, err := o.c.call(ctx, msgStop, nil, nil, 0)
	return err
}

// Evict kills a consumer, by incarnation number or else by pid, and waits until its slots are taken back.
func (o *Operator) Evict(ctx context.Context, owner, pid uint32) error {
	_, err := o.c.call(ctx, msgEvict, bytesOf(&Evict{Owner: owner, PID: pid}), nil, 0)
	return err
}

// mapSegment maps the whole of a segment after its size and seals have been checked.
func mapSegment(fd int, what string, want uint64, write, sealedWrites bool) (*os.File, mmap.MMap, error) {
	f := os.NewFile(uintptr(fd), what)
	st, err := f.Stat()
	if err != nil {
		return f, nil, because(err, ErrSystem, "shm: attach: %s: fstat: %v", what, err)
	}
	if uint64(st.Size()) != want || want == 0 || want > 1<<46 {
		return f, nil, refuse(ErrFormat, "shm: attach: %s segment has %d bytes, want %d; it is truncated", what, st.Size(), want)
	}
	if err := checkSeals(fd, what, sealedWrites); err != nil {
		return f, nil, err
	}
	prot := mmap.RDONLY
	if write {
		prot = mmap.RDWR
	}
	mem, err := mmap.MapRegion(f, int(want), prot, 0, 0)
	if err != nil {
		return f, nil, because(err, ErrSystem, "shm: attach: %s: mmap of %d bytes: %v", what, want, err)
	}
	return f, mem, nil
}

// checkSeals refuses a memfd whose size, or whose bytes if they ought to be read-only, somebody could still change.
func checkSeals(fd int, what string, sealedWrites bool) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals == unix.F_SEAL_SEAL {
		return nil // a named segment: it cannot be sealed
	}
	want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if sealedWrites {
		want |= unix.F_SEAL_FUTURE_WRITE
	}
	if seals&want != want {
		return refuse(ErrFormat, "shm: attach: %s segment has seals %#x, want %#x; it is not from an spdl engine", what, seals, want)
	}
	return nil
}
