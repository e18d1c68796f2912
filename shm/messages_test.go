package shm

import (
	"errors"
	"fmt"
	"math/rand"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestGarbageOnTheSocketIsAnsweredOrCutOffAndHurtsNobody(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	hello := Hello{LayoutMajor: LayoutMajor}
	good := Msg{Magic: msgMagic, Version: msgVersion, Type: msgHello, ID: 7, Bytes: 256}
	with := func(change func(*Msg)) []byte {
		m := good
		change(&m)
		return append(append([]byte(nil), bytesOf(&m)...), bytesOf(&hello)...)
	}
	for name, msg := range map[string][]byte{
		"one byte":             {1},
		"zeros":                make([]byte, 300),
		"wrong magic":          with(func(m *Msg) { m.Magic++ }),
		"wrong version":        with(func(m *Msg) { m.Version = 9 }),
		"unknown type":         with(func(m *Msg) { m.Type = 99 }),
		"an answer":            with(func(m *Msg) { m.Type = msgWelcome }),
		"payload too long":     with(func(m *Msg) { m.Bytes = 255 }),
		"payload too short":    with(func(m *Msg) { m.Bytes = 1 << 31 }),
		"half a hello":         append(append([]byte(nil), bytesOf(&Msg{Magic: msgMagic, Version: 1, Type: msgHello, Bytes: 8})...), make([]byte, 8)...),
		"state before hello":   bytesOf(&Msg{Magic: msgMagic, Version: 1, Type: msgState}),
		"detach before hello":  bytesOf(&Msg{Magic: msgMagic, Version: 1, Type: msgDetach}),
		"the largest datagram": make([]byte, 100000),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(msg); err != nil {
				t.Fatal(err)
			}
			m, err := receive(conn, make([]byte, msgMax+1), 1)
			if err != nil || m.Type != msgError || m.Status >= 0 || len(m.payload) == 0 {
				t.Fatalf("got answer %+v, error %v, want a refusal with its reason", m, err)
			}
			if m, err := receive(conn, make([]byte, msgMax+1), 1); err == nil {
				t.Fatalf("got a second answer %+v, want a hang-up", m)
			}
		})
	}
	r.publishOne(0, false)
	release(t, acquire(t, c))
}

// A member's request that makes no sense in itself is refused, and the member goes on asking.
func TestMemberWhoseRequestIsRefusedStays(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	for _, kind := range []uint16{msgEvict, msgFail, msgDevice, msgConnect} {
		_, err := c.call(testContext(t), kind, []byte{1})
		wantErr(t, err, ErrFormat)
	}
	r.publishOne(0, false)
	release(t, acquire(t, c))
}

func TestRandomMessagesDoNotHurt(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	rng := rand.New(rand.NewSource(3))
	for range 500 {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.Intn(3) {
			m := Msg{Magic: msgMagic, Version: msgVersion, Type: uint16(rng.Intn(msgConnect + 1)), ID: rng.Uint32()}
			if m.Type == msgEvict {
				continue // it may name this process
			}
			payload := make([]byte, rng.Intn(400))
			_, _ = rng.Read(payload)
			if rng.Intn(2) == 0 && len(payload) >= 4 {
				copy(payload, []byte{LayoutMajor, 0, 0, 0})
			}
			m.Bytes = uint32(len(payload))
			_, _ = conn.Write(append(append([]byte(nil), bytesOf(&m)...), payload...))
		}
		_ = conn.Close()
	}
	c := r.attach(AttachOptions{Group: "sane", MaxLeases: 1})
	r.publishOne(0, false)
	release(t, acquire(t, c))
	r.evictAllBut(c)
}

// evictAllBut removes members that random hellos made and that live in this process.
func (r *testRing) evictAllBut(c *Reader) {
	r.mu.Lock()
	var others []*member
	for _, g := range r.groups {
		for _, m := range g.members {
			if m != nil && m.owner != c.Owner() {
				others = append(others, m)
			}
		}
	}
	r.mu.Unlock()
	for _, m := range others {
		r.reap(m, "test")
	}
}

func TestFloodOfSilentConnectionsDoesNotKeepOthersOut(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	var silent []net.Conn
	defer func() {
		for _, conn := range silent {
			_ = conn.Close()
		}
	}()
	for range 200 {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
	}
	r.attach(AttachOptions{})
	eventually(t, "the oldest to be cut off", func() bool {
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		return len(r.server.conns) <= maxStrangers+1
	})
	for i, conn := range silent {
		_ = conn.SetReadDeadline(time.Now().Add(watchdog))
		var b [1]byte
		if _, err := conn.Read(b[:]); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("silent connection %d was not cut off: %v", i, err)
		}
	}
}

func TestDescriptorsSentUnaskedAreClosed(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	before := countFDs(t)
	for range 20 {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		fds := make([]int, 100)
		_, _, err = conn.WriteMsgUnix(make([]byte, 64), unix.UnixRights(fds...), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = receive(conn, make([]byte, msgMax+1), 1)
		_ = conn.Close()
	}
	eventually(t, "descriptors to be closed", func() bool { return countFDs(t) <= before })
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte{})
	m := Msg{Magic: msgMagic, Version: msgVersion, Type: msgState, Bytes: 24}
	f.Add(append(append([]byte(nil), bytesOf(&m)...), append(bytesOf(&StateReq{N: 1}), 1, 2, 3, 4, 5, 6, 7, 8)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, payload, err := parseMessage(b)
		if err != nil {
			return
		}
		if len(payload) != int(m.Bytes) || len(b) != msgHead+len(payload) {
			t.Fatalf("payload of %d bytes from %d, message says %d", len(payload), len(b), m.Bytes)
		}
		_, _, _ = stateRequest(payload)
		_, _ = payloadAs[Hello](payload)
		_, _ = payloadAs[Welcome](payload)
	})
}

func ExampleStatus() {
	fmt.Println(ErrBusy, int32(ErrBusy))
	// Output: busy -22
}
