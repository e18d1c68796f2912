package shm

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAttachToASilentEngineEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "silent.sock")
	silent, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for range 50 { // the socket's own clock and that of the context rang in either order
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Millisecond)
		_, err := Attach(ctx, path, AttachOptions{MaxLeases: 1})
		cancel()
		wantErr(t, err, context.DeadlineExceeded)
	}
}

// A request that cannot even be sent ends with its context, too.
func TestRequestToAFullSocketEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full.sock")
	full, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Write(func(fd uintptr) bool {
		for err == nil {
			_, err = unix.Write(int(fd), make([]byte, 1024))
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, err, unix.EAGAIN)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = (&caller{conn: conn}).call(ctx, msgStats, nil, nil, 0)
	wantErr(t, err, context.Canceled)
}

// What an engine answers after its asker gave up is nobody's, and the next request has its own answer.
func TestLateAnswerIsNotThatOfTheNextRequest(t *testing.T) {
	mine, theirs := socketpair(t)
	conn, err := connOf(mine)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	engine, err := connOf(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	c := &caller{conn: conn, patience: time.Millisecond}
	_, err = c.call(testContext(t), msgStats, nil, nil, 0)
	wantErr(t, err, ErrSystem)
	for i, say := range []string{"late", "mine"} {
		if err := send(engine, Msg{Type: msgOK, ID: uint32(i + 1)}, []byte(say), nil); err != nil {
			t.Fatal(err)
		}
	}
	c.patience = 0
	m, err := c.call(testContext(t), msgStats, nil, nil, 0)
	if err != nil || string(m.payload) != "mine" {
		t.Fatalf("got %+v, %v", m, err)
	}
	if err := send(engine, Msg{Type: msgOK, ID: 9}, nil, nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.call(testContext(t), msgStats, nil, nil, 0)
	wantErr(t, err, ErrFormat)
}
