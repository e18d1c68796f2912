package shm

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	handshakeTime = time.Second           // for the first message
	leaveTime     = 50 * time.Millisecond // for those who left before an attach that finds no room
	leavingTime   = time.Second           // for those who still have to be heard then
	lastWordsTime = 5 * time.Millisecond  // for a dead member's connection to be read to its end
	maxStrangers  = 64                    // connections that have not said what they want
)

// Control answers what members ask for beyond batches. Its calls come from connection goroutines, never under the
// ring's lock, several at once. group is the index of the caller's group, owner its incarnation number.
type Control interface {
	// State is the group's position as JSON. Tickets in extra count as completed, and with countHeld those that
	// owner holds.
	State(group int, owner uint32, countHeld bool, extra []uint64) ([]byte, error)
	// Load goes on from a saved position and returns the epoch that begins there.
	Load(group int, owner uint32, state []byte) (epoch uint64, err error)
	// Restart leaves the rest of the epoch and returns the next.
	Restart(group int, owner uint32) (epoch uint64, err error)
	// Stats are the engine's counters as JSON.
	Stats() ([]byte, error)
	// Stop begins the engine's orderly end. It returns at once.
	Stop()
}

// Service is a ring and who answers for it.
type Service struct {
	Ring    *Ring
	Control Control // nil: such requests are refused as unsupported
}

// ServerConfig says where a server listens.
type ServerConfig struct {
	Name        string      // of the engine, or the absolute path of the socket; "" when only Owner is used
	Mode        os.FileMode // 0600 (also for 0), or 0640: the engine's group may attach too
	ReconnectNS uint64      // told to members: how long to look for a restarted engine
}

// Server is the control socket of one engine: it admits members to its rings and answers their requests.
type Server struct {
	cfg      ServerConfig
	services []Service
	listener *net.UnixListener
	path     string
	inode    uint64

	work sync.WaitGroup

	mu        sync.Mutex // guards what follows
	conns     map[*net.UnixConn]struct{}
	strangers []*net.UnixConn // those of conns that have not said what they want, the oldest first
	parents   []*os.File      // pidfds
	closed    bool
}

// Listen serves the rings, the first of which is the one meant when none is named. The socket is NAME.sock in the
// runtime directory; a stale one is replaced after a refused connection has proved its engine dead.
func Listen(cfg ServerConfig, services ...Service) (*Server, error) {
	s := newServer(cfg, services)
	path, err := socketPath(cfg.Name)
	if err != nil {
		return nil, err
	}
	if err := s.bind(path); err != nil {
		return nil, err
	}
	s.work.Add(1)
	go s.accept()
	return s, nil
}

// Serve makes a server without a socket of its own, for Owner and Child.
func Serve(cfg ServerConfig, services ...Service) *Server { return newServer(cfg, services) }

func newServer(cfg ServerConfig, services []Service) *Server {
	if cfg.Mode == 0 {
		cfg.Mode = 0o600
	}
	return &Server{cfg: cfg, services: services, conns: map[*net.UnixConn]struct{}{}}
}

// Path is the socket's path.
func (s *Server) Path() string { return s.path }

// bind takes the path. A lock on the directory keeps two starting engines from removing each other's socket.
func (s *Server) bind(path string) error {
	return withDirLock(filepath.Dir(path), func() error { return s.bindLocked(path) })
}

// withDirLock calls f under the lock that starting engines take: a socket that is bound and not yet listened on looks dead.
func withDirLock(dir string, f func() error) error {
	d, err := os.Open(dir)
	if err != nil {
		return because(err, ErrSystem, "shm: socket directory %q: %v", dir, err)
	}
	defer d.Close()
	if err := ignoringEINTR(func() error { return unix.Flock(int(d.Fd()), unix.LOCK_EX) }); err != nil {
		return because(err, ErrSystem, "shm: socket directory %q: lock: %v", dir, err)
	}
	return f()
}

func (s *Server) bindLocked(path string) error {
	if err := ownPath(path); err != nil {
		return err
	}
	if err := removeStaleSocket(path); err != nil {
		return err
	}
	if err := Fault("socket.bind"); err != nil {
		return err
	}
	mode := uint32(0o600)
	if s.cfg.Mode&0o040 != 0 {
		mode = 0o660 // connecting needs the right to write
	}
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if ctl := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), mode) }); ctl != nil {
			return ctl
		}
		return err
	}}
	l, err := config.Listen(context.Background(), "unixpacket", path)
	if err != nil {
		return because(err, ErrSystem, "shm: listen %q: %v", path, err)
	}
	s.listener = l.(*net.UnixListener)
	s.listener.SetUnlinkOnClose(false) // Close looks whether it is still ours
	s.path = path
	if mode == 0o660 { // the umask has taken the group's right away
		if err := os.Chmod(path, 0o660); err != nil {
			_ = l.Close()
			return because(err, ErrSystem, "shm: listen %q: chmod: %v", path, err)
		}
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil {
		s.inode = st.Ino
	}
	return Fault("socket.listen")
}

// removeStaleSocket removes a socket whose engine is dead, and refuses when it lives. The caller holds the lock of the
// directory.
func removeStaleSocket(path string) error {
	switch dead, err := deadSocket(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !dead:
		return because(ErrNameInUse, ErrBusy, "shm: listen %q: a running engine answers there; stop it or choose another name", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return because(err, ErrDenied, "shm: listen %q: a dead engine's socket: %v; remove it as its owner", path, err)
	}
	return nil
}

// deadSocket says that a connection to the socket is refused, which proves its engine dead.
func deadSocket(path string) (bool, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return false, because(err, ErrSystem, "shm: listen %q: %v", path, err)
	}
	if st.Mode()&os.ModeSocket == 0 {
		return false, because(ErrNameInUse, ErrBusy, "shm: listen %q: something that is no socket is there; move it away", path)
	}
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err == nil {
		return false, conn.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return false, because(err, ErrDenied, "shm: listen %q: a socket that cannot be asked: %v; remove it as its owner", path, err)
	}
	return true, nil
}

func (s *Server) accept() {
	defer s.work.Done()
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors: those who hang up give some back
			continue
		}
		s.meet(conn)
		s.start(func() { s.serve(conn, origin{}) }, conn)
	}
}

// meet counts conn among the strangers until it has said what it wants. When there are too many the oldest is cut
// off: in a flood of those who say nothing, one who speaks at once still gets through.
func (s *Server) meet(conn *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.strangers) == maxStrangers {
		_ = s.strangers[0].Close()
		s.strangers = slices.Delete(s.strangers, 0, 1)
	}
	s.strangers = append(s.strangers, conn)
}

func (s *Server) knows(conn *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.strangers, conn); i >= 0 {
		s.strangers = slices.Delete(s.strangers, i, i+1)
	}
}

// start runs f in a goroutine that Close waits for; it refuses, and closes conn, when the server is closed.
func (s *Server) start(f func(), conn *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.conns[conn] = struct{}{}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		f()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close()
	}()
	return true
}

// Owner serves the parent of a child engine over its end of the socketpair, and takes the descriptor and parent, a
// pidfd. The returned queue is closed when the parent is dead, or it and whoever connected over its connection have detached and hung up: the
// engine stops then.
func (s *Server) Owner(control, parent *os.File) (<-chan struct{}, error) {
	conn, err := connOf(control)
	if err != nil {
		_ = parent.Close()
		return nil, err
	}
	watched, err := pidfdOf(parent)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	gone := make(chan struct{})
	leave := sync.OnceFunc(func() { close(gone) })
	kin := &family{leave: leave}
	kin.join()
	if !s.start(func() { s.serve(conn, origin{family: kin}) }, conn) {
		_ = watched.Close()
		return nil, ErrClosed
	}
	s.mu.Lock()
	s.parents = append(s.parents, watched)
	s.work.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.work.Done()
		if awaitDeath(watched) {
			leave()
		}
	}()
	return gone, nil
}

// Child serves a process that this one started, over its end of a socketpair, and takes the descriptor. pidfd, which stays the
// caller's, is the process's. The kernel says of both ends of the pair that this process made them: who is at the other, the
// caller knows.
func (s *Server) Child(control *os.File, pid int, pidfd *os.File) error {
	conn, err := connOf(control)
	if err != nil {
		return err
	}
	fd, err := unix.FcntlInt(pidfd.Fd(), unix.F_DUPFD_CLOEXEC, 0) // now: the caller may close his when it likes
	if err != nil {
		_ = conn.Close()
		return because(err, ErrSystem, "shm: child %d: copy of its pidfd: %v", pid, err)
	}
	of := &offspring{pid, os.NewFile(uintptr(fd), "pidfd")}
	if !s.start(func() { s.serve(conn, origin{child: of}); _ = of.pidfd.Close() }, conn) {
		_ = of.pidfd.Close()
		return ErrClosed
	}
	return nil
}

// RefuseOwner tells the parent of a child engine why there is none. It takes the descriptor.
func RefuseOwner(control *os.File, err error) error {
	conn, cerr := connOf(control)
	if cerr != nil {
		return cerr
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(handshakeTime))
	var id uint32
	if m, rerr := receive(conn, make([]byte, msgMax+1), 2); rerr == nil {
		id = m.ID
		m.closeFDs()
	}
	return sendError(conn, id, err)
}

func connOf(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	kind, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_TYPE)
	if err == nil && kind != unix.SOCK_SEQPACKET {
		return nil, refuse(ErrArgument, "shm: control descriptor: a socket of type %d, want %d: make the pair with SOCK_SEQPACKET", kind, unix.SOCK_SEQPACKET)
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, because(err, ErrArgument, "shm: control descriptor: %v; it must be a SOCK_SEQPACKET socket", err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, refuse(ErrArgument, "shm: control descriptor: a %s socket, want unixpacket", c.LocalAddr().Network())
	}
	return conn, nil
}

// pidfdOf puts an inherited pidfd on the netpoller.
func pidfdOf(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, because(err, ErrArgument, "shm: parent descriptor: %v", err)
	}
	return pidfdFile(fd)
}

// Close hangs up on everybody, removes the socket and waits for the server's goroutines. Members stay members of
// their rings; close those too.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.work.Wait()
		return nil
	}
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	for _, parent := range s.parents {
		_ = parent.Close()
	}
	s.mu.Unlock()
	if s.listener != nil {
		var st unix.Stat_t
		if unix.Lstat(s.path, &st) == nil && st.Ino == s.inode {
			_ = os.Remove(s.path)
		}
		_ = s.listener.Close()
	}
	s.work.Wait()
	return nil
}

// observation is the text of an OBSERVE answer.
type observation struct {
	Groups []int `json:"groups"` // record indexes, in the order of the descriptors after the header's
}

// observe answers with read-only descriptors of the ring's header and groups.
func observe(conn *net.UnixConn, id uint32, r *Ring) error {
	files, indexes, err := r.viewers()
	if err != nil {
		return sendError(conn, id, err)
	}
	var fds []int
	for _, f := range files {
		defer f.Close()
		fds = append(fds, int(f.Fd()))
	}
	if len(fds) > maxObserved {
		fds, indexes = fds[:maxObserved], indexes[:maxObserved-1]
	}
	text, err := json.Marshal(observation{Groups: indexes})
	if err != nil {
		return sendError(conn, id, err)
	}
	return answer(conn, Msg{Type: msgOK, ID: id}, text, fds)
}

// maxObserved is how many descriptors one message can carry (SCM_MAX_FD is 253).
const maxObserved = 250
