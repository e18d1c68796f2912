package verbs

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keyboard is the terminal that the process is started from, of which keys are read as they are typed and not shown. Its signals stay: Ctrl-C, Ctrl-Z, Ctrl-\.
type keyboard struct {
	fd int

	mu     sync.Mutex
	before *unix.Termios // its mode before ours; nil: it has that
	closed bool          // for good
}

// untilTyped is ctx until the key is typed at the terminal in; leave is called at the end. The terminal has its mode back whatever ends the process, but for SIGKILL,
// and while it is stopped. Of what is no terminal, or one of another session, nothing is read, and nothing is changed there; nor of any while the process is in the background.
func untilTyped(ctx context.Context, in *os.File, key byte) (typed context.Context, leave func()) {
	typed, cancel := context.WithCancel(ctx)
	k := &keyboard{fd: int(in.Fd())}
	if _, err := unix.IoctlGetInt(k.fd, unix.TIOCGPGRP); err != nil {
		return typed, cancel
	}
	wake, end, err := os.Pipe()
	if err != nil {
		return typed, cancel
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGCONT, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	k.open()
	context.AfterFunc(typed, k.close) // a signal ends it here, even where the screen takes no more
	var working sync.WaitGroup
	working.Add(2)
	go func() {
		defer working.Done()
		k.follow(typed, signals)
	}()
	go func() {
		defer working.Done()
		if k.await(typed, wake, key) {
			cancel()
		}
	}()
	return typed, func() {
		k.close()
		cancel()
		_ = end.Close()
		working.Wait()
		_ = wake.Close()
		signal.Stop(signals)
	}
}

// ours says that the process may read and set the terminal: it is its session's, and not in the background there.
func (k *keyboard) ours() bool {
	group, err := unix.IoctlGetInt(k.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// open has keys come as they are typed.
func (k *keyboard) open() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.before != nil || !k.ours() {
		return
	}
	was, err := unix.IoctlGetTermios(k.fd, unix.TCGETS)
	if err != nil {
		return
	}
	mode := *was
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(k.fd, unix.TCSETS, &mode) == nil {
		k.before = was
	}
}

// restore gives the terminal its mode back.
func (k *keyboard) restore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.before != nil && k.ours() { // else whoever has it now has set its own
		_ = unix.IoctlSetTermios(k.fd, unix.TCSETS, k.before)
	}
	k.before = nil
}

func (k *keyboard) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.restore()
}

// follow restores the terminal while the process is stopped, and where it is made to quit.
func (k *keyboard) follow(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			switch s {
			case syscall.SIGTSTP:
				k.restore()
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			case syscall.SIGCONT:
				k.open()
			case syscall.SIGQUIT:
				k.close()
				signal.Reset(syscall.SIGQUIT)
				_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
			}
		}
	}
}

// await reads what is typed until it is the key: true. What is typed while the process is in the background is another's.
func (k *keyboard) await(ctx context.Context, wake *os.File, key byte) bool {
	for {
		ready := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}, {Fd: int32(wake.Fd())}}
		if _, err := unix.Poll(ready, -1); err == unix.EINTR {
			continue
		} else if err != nil || ready[1].Revents != 0 {
			return false
		}
		if !k.ours() {
			select {
			case <-ctx.Done():
				return false
			case <-time.After(200 * time.Millisecond):
			}
			continue
		}
		var typed [64]byte
		n, err := unix.Read(k.fd, typed[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return false // it is gone, or at its end
		}
		if typed[0] == '\x1b' {
			continue // a key of several characters
		}
		for _, c := range typed[:n] {
			if c == key {
				return true
			}
		}
	}
}
