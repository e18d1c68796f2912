package shm

import (
	"os"

	"golang.org/x/sys/unix"
)

// ear hears an eventfd that members write. On the netpoller each of their writes would wake a thread of this process, heard or not:
// a member that rings without end took half a core so. The eventfd is in an epoll set of its own instead, which forgets it with each
// event until hear asks again, and the set is on the netpoller.
type ear struct {
	eventFD          // for passing on; not on the netpoller
	set     *os.File // says once that the eventfd may be read
}

func newEar() (ear, error) {
	event, err := newEvent()
	if err != nil {
		return ear{}, err
	}
	e := ear{eventFD: event}
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, e.fd, &unix.EpollEvent{})
		_ = unix.SetNonblock(set, true)
		e.set = os.NewFile(uintptr(set), "epoll")
	}
	if err != nil {
		e.end()
		return ear{}, because(err, ErrSystem, "shm: epoll: %v", err)
	}
	return e, nil
}

var onceReadable = unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}

// hear waits until members have written since it was called last, and takes all that they wrote; false once the ear is closed.
func (e *ear) hear() bool {
	set, err := e.set.SyscallConn()
	if err != nil || set.Control(e.ask) != nil || set.Read(hasRung) != nil {
		return false
	}
	var buf [8]byte
	_, _ = e.Read(buf[:]) // empty if a member has read it, which only members can have written
	return true
}

// ask has the set say when the eventfd may be read, at once if it may be now.
func (e *ear) ask(set uintptr) {
	if raw, err := e.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.EpollCtl(int(set), unix.EPOLL_CTL_MOD, int(fd), &onceReadable) })
	}
}

func hasRung(set uintptr) bool {
	var event [1]unix.EpollEvent
	n, err := unix.EpollWait(int(set), event[:], 0)
	return err == nil && n == 1
}

// end ends hear, now and later.
func (e *ear) end() {
	if e.set != nil {
		_ = e.set.Close()
	}
	e.quit()
}
