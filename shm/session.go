package shm

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// session is one connection: a member's, or an operator's.
type session struct {
	server  *Server
	conn    *net.UnixConn
	cred    *unix.Ucred
	groups  []uint32 // the peer's supplementary ones
	service *Service // of the member's ring, or the first
	member  *member
	heard   chan struct{} // closed at the end of this connection
	origin
}

// origin is how a connection came about where the peer did not connect to the server's socket.
type origin struct {
	child  *offspring // the peer was started by this process; nil: the kernel says who it is
	family *family    // the peer keeps this engine alive; nil: it does not
}

// family are the connections that a child engine lives for: its owner's, and those that came over them.
type family struct {
	living atomic.Int32
	leave  func()
}

func (f *family) join() {
	if f != nil {
		f.living.Add(1)
	}
}

func (f *family) left() {
	if f != nil && f.living.Add(-1) == 0 {
		f.leave()
	}
}

// offspring is a process that this one started, at the other end of a socketpair.
type offspring struct {
	pid   int
	pidfd *os.File
}

// serve speaks with one peer until it hangs up. Of its family it is no more then, unless it was a member that did not detach: such a one
// keeps its leases, and the engine, while its process lives.
func (s *Server) serve(conn *net.UnixConn, from origin) {
	if s.converse(conn, from) {
		from.family.left()
	}
}

// converse says whether the peer was a member that detached, or never became one.
func (s *Server) converse(conn *net.UnixConn, from origin) bool {
	defer s.knows(conn)
	c := &session{server: s, conn: conn, service: &s.services[0], heard: make(chan struct{}), origin: from}
	var err error
	if c.cred, err = credentials(conn); err != nil {
		return true
	}
	c.groups = supplementary(conn)
	_ = Fault("handshake")
	_ = conn.SetReadDeadline(time.Now().Add(handshakeTime))
	buf := make([]byte, msgMax+1)
	for {
		m, err := receive(conn, buf, 2)
		if err != nil {
			c.farewell(m, err)
			break
		}
		s.knows(conn)
		err = c.handle(m)
		m.closeFDs()
		if c.member != nil && isHangUp(err) {
			continue // we told it that its group is broken: it may still say that it detaches
		}
		if err != nil || c.member == nil && !governs(c.cred) {
			break // only members and the engine's user stay
		}
		_ = conn.SetReadDeadline(time.Time{})
	}
	return c.end()
}

// farewell tells a peer whose message could not be read why it is cut off.
func (c *session) farewell(m *message, err error) {
	var refusal *Error
	if isHangUp(err) || !errors.As(err, &refusal) {
		return
	}
	var id uint32
	if m != nil {
		id = m.ID
	}
	_ = sendError(c.conn, id, err)
}

// end is the hang-up. A member that detached is let go; one that did not keeps its leases until it is dead.
func (c *session) end() bool {
	close(c.heard)
	switch r := c.service.Ring; {
	case c.member == nil:
		return true
	case c.member.left.Load():
		r.reap(c.member, "detach")
		return true
	default:
		r.silence(c.member, c.conn)
		return false
	}
}

// handle answers one message. An error ends the connection.
func (c *session) handle(m *message) error {
	if m.Type == msgHello {
		return c.hello(m)
	}
	if m.Type == msgDetach && c.member != nil {
		c.member.left.Store(true)
		return errDetached
	}
	if err := c.allowed(m); err != nil {
		_ = sendError(c.conn, m.ID, err)
		return err
	}
	payload, err := c.answer(m)
	switch {
	case errors.Is(err, errAnswered):
		return nil
	case err != nil:
		return sendError(c.conn, m.ID, err)
	case len(payload) > msgMax-msgHead:
		return sendError(c.conn, m.ID, refuse(ErrSystem, "shm: control: answer of %d bytes, at most %d fit", len(payload), msgMax-msgHead))
	}
	return answer(c.conn, Msg{Type: msgOK, ID: m.ID}, payload, nil)
}

var (
	errDetached = errors.New("shm: detached")
	errAnswered = errors.New("shm: answered")
)

// allowed checks who asks: a member may ask about itself, the engine's user and root about everything.
func (c *session) allowed(m *message) error {
	switch m.Type {
	case msgState, msgLoad, msgRestart, msgFail, msgDevice, msgConnect:
		if c.member == nil {
			return refuse(ErrDenied, "shm: control: request %d before hello; attach first", m.Type)
		}
	case msgStats, msgObserve:
		if c.member == nil && !admits(c.cred, c.groups, c.server.cfg.Mode) {
			return refuse(ErrDenied, "shm: control: uid %d may not look at this engine", c.cred.Uid)
		}
	case msgEvict, msgStop:
		if !governs(c.cred) {
			return refuse(ErrDenied, "shm: control: uid %d may not rule this engine; run as its user or as root", c.cred.Uid)
		}
	default:
		return refuse(ErrFormat, "shm: control: message type %d is no request", m.Type)
	}
	return nil
}

func (c *session) answer(m *message) ([]byte, error) {
	switch m.Type {
	case msgObserve:
		if err := c.choose(string(m.payload)); err != nil {
			return nil, err
		}
		if err := observe(c.conn, m.ID, c.service.Ring); err != nil {
			return nil, err
		}
		return nil, errAnswered
	case msgEvict:
		e, err := payloadAs[Evict](m.payload)
		if err != nil {
			return nil, err
		}
		return nil, c.evict(e)
	case msgFail:
		return nil, c.fail(m)
	case msgConnect:
		return nil, c.connect(m)
	case msgDevice:
		d, err := payloadAs[Device](m.payload)
		if err != nil {
			return nil, err
		}
		return nil, c.service.Ring.deviceReady(c.member, d, m.payload[unsafe.Sizeof(d):])
	case msgState, msgLoad, msgRestart:
		if g := c.member.group; g.cfg.Kind.stage() {
			return nil, refuse(ErrArgument, "shm: control: group %q is a stage, and has no position of its own; ask through a consumer", g.cfg.Name)
		}
	}
	control := c.service.Control
	if control == nil {
		return nil, refuse(ErrUnsupported, "shm: control: this producer does not answer request %d", m.Type)
	}
	switch m.Type {
	case msgState:
		countHeld, extra, err := stateRequest(m.payload)
		if err != nil {
			return nil, err
		}
		return control.State(c.member.group.index, c.member.owner, countHeld, extra)
	case msgLoad:
		epoch, err := control.Load(c.member.group.index, c.member.owner, m.payload)
		return u64(epoch), err
	case msgRestart:
		epoch, err := control.Restart(c.member.group.index, c.member.owner)
		return u64(epoch), err
	case msgStats:
		if len(m.payload) > 0 {
			return nil, c.trace(m, control)
		}
		return control.Stats()
	}
	control.Stop()
	return nil, nil
}

// fail hears from a stage's worker that it cannot transform a batch.
func (c *session) fail(m *message) error {
	f, err := payloadAs[Fail](m.payload)
	if err != nil {
		return err
	}
	return c.service.Ring.failed(c.member, f, string(m.payload[unsafe.Sizeof(f):]))
}

// connect takes one end of a socket pair of the peer's and serves it like a connection of its own: of engines without a socket nobody else
// could attach to a second ring.
func (c *session) connect(m *message) error {
	if len(m.fds) != 1 {
		return refuse(ErrFormat, "shm: control: connect with %d descriptors, want one end of a socket pair", len(m.fds))
	}
	file := os.NewFile(uintptr(m.fds[0]), "control")
	m.fds = nil
	conn, err := connOf(file)
	if err != nil {
		return err
	}
	s, from := c.server, origin{family: c.family}
	from.family.join()
	s.meet(conn)
	if !s.start(func() { s.serve(conn, from) }, conn) {
		s.knows(conn)
		from.family.left()
		return ErrClosed
	}
	return nil
}

// evict looks for the member in every ring of the engine.
func (c *session) evict(e Evict) error {
	var err error = refuse(ErrNotFound, "shm: evict: nobody was named; give an owner or a pid")
	if e.Owner == 0 && e.PID == 0 {
		return err
	}
	for i := range c.server.services {
		if err = c.server.services[i].Ring.Evict(e.Owner, int32(e.PID)); !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return err
}

// choose makes the ring of that name the one this connection is about; "" is the first.
func (c *session) choose(ring string) error {
	var names []string
	for i := range c.server.services {
		name := c.server.services[i].Ring.cfg.RingName
		if ring == "" || name == ring {
			c.service = &c.server.services[i]
			return nil
		}
		names = append(names, name)
	}
	if len(names) == 1 && names[0] == "" {
		return refuse(ErrNotFound, "shm: attach: no ring %q here; the engine has one, called %q as the engine is: leave the ring out", ring, c.service.Ring.cfg.Name)
	}
	return refuse(ErrNotFound, "shm: attach: no ring %q here; the engine has %s", ring, strings.Join(names, ", "))
}

// hello admits the peer and sends its welcome. A refusal is answered and ends the connection.
func (c *session) hello(m *message) error {
	member, err := c.admit(m)
	if err != nil {
		_ = sendError(c.conn, m.ID, err)
		return err
	}
	c.member = member
	return nil
}

func (c *session) admit(m *message) (*member, error) {
	if !admits(c.cred, c.groups, c.server.cfg.Mode) {
		return nil, refuse(ErrDenied, "shm: attach: uid %d gid %d may not attach; run as the engine's user, or serve with mode 0640 to its group", c.cred.Uid, c.cred.Gid)
	}
	if c.member != nil {
		return nil, refuse(ErrFormat, "shm: attach: this connection is attached already; open another")
	}
	h, err := payloadAs[Hello](m.payload)
	if err != nil {
		return nil, err
	}
	if h.LayoutMajor != LayoutMajor {
		return nil, refuse(ErrVersion, "shm: attach: layout %d, this engine speaks %d; use client and engine of one release", h.LayoutMajor, LayoutMajor)
	}
	if err := c.choose(text(h.Ring[:])); err != nil {
		return nil, err
	}
	sent := -1
	if h.Flags&helloPIDFD != 0 && len(m.fds) > 0 {
		sent = m.fds[0]
	}
	pidfd, err := c.peer(sent)
	if err != nil {
		return nil, err
	}
	request := joinRequest{hello: h, pid: c.cred.Pid, pidfd: pidfd, conn: c.conn, heard: c.heard}
	if h.Flags&helloRejoin != 0 {
		return c.welcomeBack(m, request)
	}
	member, welcome, fds, err := c.service.Ring.join(request)
	for began := time.Now(); errors.Is(err, ErrBusy); {
		if waited := time.Since(began); waited > leavingTime || !c.service.Ring.leaving() && waited > leaveTime {
			break
		}
		time.Sleep(time.Millisecond)
		member, welcome, fds, err = c.service.Ring.join(request)
	}
	if err != nil {
		_ = pidfd.Close()
		return nil, err
	}
	if err := c.sendWelcome(m, &h, welcome, fds); err != nil {
		c.service.Ring.reap(member, "detach") // it has no descriptor and so no lease
		return nil, err
	}
	return member, nil
}

// peer is a pidfd of who is at the other end. It corrects the credentials' pid where that is a child.
func (c *session) peer(sent int) (*os.File, error) {
	if c.child == nil {
		return peerPIDFD(c.conn, c.cred, sent)
	}
	c.cred.Pid = int32(c.child.pid)
	fd, err := unix.FcntlInt(c.child.pidfd.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, because(err, ErrSystem, "shm: attach: pidfd of child %d: %v", c.child.pid, err)
	}
	return pidfdFile(fd)
}

// welcomeBack admits a member of an engine that died.
func (c *session) welcomeBack(m *message, req joinRequest) (*member, error) {
	defer req.pidfd.Close() // its process is watched already
	member, welcome, fds, err := c.service.Ring.rejoin(req)
	if err != nil {
		return nil, err
	}
	if err := c.sendWelcome(m, &req.hello, welcome, fds); err != nil {
		c.service.Ring.silence(member, c.conn) // it may ask again
		return nil, err
	}
	return member, nil
}

// sendWelcome answers hello m, and closes the descriptors.
func (c *session) sendWelcome(m *message, h *Hello, welcome Welcome, fds []int) error {
	defer closeAll(fds)
	_ = Fault("handshake.registered")
	welcome.ReconnectNS = c.reconnects(h)
	return answer(c.conn, Msg{Type: msgWelcome, ID: m.ID}, bytesOf(&welcome), fds)
}

// reconnects is how long the member may look for an engine that goes on with the ring: one with names, and, where it has a device, a member that
// believes no device memory whose engine is dead.
func (c *session) reconnects(h *Hello) uint64 {
	ring := &c.service.Ring.cfg
	if ring.Backing != Posix || ring.Device != nil && h.LayoutMinor < 5 {
		return 0
	}
	return c.server.cfg.ReconnectNS
}
