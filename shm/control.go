package shm

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const msgHead = 32

// message is one message of the control socket, received.
type message struct {
	Msg
	payload []byte
	fds     []int // sent with it; the receiver closes them
}

// parseMessage takes a datagram apart. It keeps no reference to b.
func parseMessage(b []byte) (Msg, []byte, error) {
	var m Msg
	if len(b) < msgHead {
		return m, nil, refuse(ErrFormat, "shm: control: message of %d bytes, want at least %d", len(b), msgHead)
	}
	copy(bytesOf(&m), b)
	switch {
	case m.Magic != msgMagic:
		return m, nil, refuse(ErrFormat, "shm: control: message magic %08x, want %08x", m.Magic, msgMagic)
	case m.Version != msgVersion:
		return m, nil, refuse(ErrVersion, "shm: control: message version %d, want %d; use client and engine of one release", m.Version, msgVersion)
	case m.Type < msgHello || m.Type > msgConnect:
		return m, nil, refuse(ErrFormat, "shm: control: message type %d, want %d to %d", m.Type, msgHello, msgConnect)
	case uint64(m.Bytes) != uint64(len(b)-msgHead):
		return m, nil, refuse(ErrFormat, "shm: control: message of %d bytes announces %d of payload, has %d", len(b), m.Bytes, len(b)-msgHead)
	}
	return m, append([]byte(nil), b[msgHead:]...), nil
}

// payloadAs reads the payload as a T; a longer one is a newer peer's and its rest is ignored.
func payloadAs[T any](payload []byte) (T, error) {
	var t T
	if len(payload) < int(unsafe.Sizeof(t)) {
		return t, refuse(ErrFormat, "shm: control: payload of %d bytes, want at least %d", len(payload), unsafe.Sizeof(t))
	}
	copy(bytesOf(&t), payload)
	return t, nil
}

// receive reads one message, with up to maxFDs descriptors. Descriptors beyond those are closed by the kernel. It
// returns io.EOF when the peer hung up.
func receive(conn *net.UnixConn, buf []byte, maxFDs int) (*message, error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFDs))
	n, oobn, flags, _, err := conn.ReadMsgUnix(buf, oob)
	if errors.Is(err, unix.ECONNRESET) { // the peer closed with an answer unread; what it said before, such as DETACH, is still there
		n, oobn, flags, _, err = conn.ReadMsgUnix(buf, oob)
	}
	m := &message{fds: takeFDs(oob[:oobn])}
	switch {
	case err != nil:
		m.closeFDs()
		return nil, err
	case n == 0 && len(m.fds) == 0:
		return nil, io.EOF
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		m.closeFDs()
		return nil, refuse(ErrFormat, "shm: control: message above %d bytes or with more than %d descriptors", msgMax, maxFDs)
	}
	m.Msg, m.payload, err = parseMessage(buf[:n])
	if err != nil {
		m.closeFDs()
		return m, err
	}
	return m, nil
}

func takeFDs(oob []byte) []int {
	var fds []int
	cmsgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range cmsgs {
		if got, err := unix.ParseUnixRights(&cmsgs[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func (m *message) closeFDs() {
	closeAll(m.fds)
	m.fds = nil
}

// send writes one message.
func send(conn *net.UnixConn, m Msg, payload []byte, fds []int) error {
	if len(payload) > msgMax-msgHead {
		return refuse(ErrFormat, "shm: control: answer of %d bytes, at most %d fit into a message", len(payload), msgMax-msgHead)
	}
	m.Magic, m.Version, m.Bytes = msgMagic, msgVersion, uint32(len(payload))
	b := append(append(make([]byte, 0, msgHead+len(payload)), bytesOf(&m)...), payload...)
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, _, err := conn.WriteMsgUnix(b, oob, nil)
	return err
}

// answer is send to a peer of the server's, which has a second from now to take it, however long it took to find out what to say.
func answer(conn *net.UnixConn, m Msg, payload []byte, fds []int) error {
	if err := conn.SetWriteDeadline(time.Now().Add(handshakeTime)); err != nil {
		return err
	}
	return send(conn, m, payload, fds)
}

// sendError answers request id with err's status and text.
func sendError(conn *net.UnixConn, id uint32, err error) error {
	text := err.Error()
	if len(text) > 4096 {
		text = text[:4096]
	}
	return answer(conn, Msg{Type: msgError, ID: id, Status: int32(statusOf(err))}, []byte(text), nil)
}

// answerError is the failure that a MSG_ERROR tells.
func answerError(m *message) error {
	return &Error{Status: Status(m.Status), Text: string(m.payload)}
}

func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// stateRequest takes a STATE payload apart.
func stateRequest(payload []byte) (countHeld bool, extra []uint64, err error) {
	req, err := payloadAs[StateReq](payload)
	if err != nil {
		return false, nil, err
	}
	rest := payload[unsafe.Sizeof(req):]
	if uint64(req.N)*8 != uint64(len(rest)) {
		return false, nil, refuse(ErrFormat, "shm: control: state request names %d tickets and carries %d bytes", req.N, len(rest))
	}
	for ; len(rest) > 0; rest = rest[8:] {
		extra = append(extra, binary.LittleEndian.Uint64(rest))
	}
	return req.Flags&stateCountHeld != 0, extra, nil
}

// isHangUp says that a read failed because the other side is gone.
func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}
