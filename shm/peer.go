package shm

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// soPeerPIDFD is SO_PEERPIDFD (Linux 6.5): a pidfd of the process that connected.
const soPeerPIDFD = 77

// credentials are the kernel's word on who connected.
func credentials(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	if ctl := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); ctl != nil {
		return nil, ctl
	}
	return cred, err
}

// admits says whether a peer may attach: the engine's user, root, or with mode 0640 the engine's group (its primary
// one: supplementary groups of the peer are not looked at).
func admits(cred *unix.Ucred, mode os.FileMode) bool {
	return governs(cred) || mode&0o040 != 0 && int(cred.Gid) == os.Getegid()
}

// governs says whether a peer may also stop the engine and evict its consumers.
func governs(cred *unix.Ucred) bool {
	return cred.Uid == 0 || int(cred.Uid) == os.Geteuid()
}

// peerPIDFD is a pidfd of the peer, by the best way there is: SO_PEERPIDFD; else pidfd_open of its pid, believed only
// if the peer's socket is still connected afterwards (then the pid had not been reused); else the one it sent
// itself, which is all there is across pid namespaces.
func peerPIDFD(conn *net.UnixConn, cred *unix.Ucred, sent int) (*os.File, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	ctl := raw.Control(func(sock uintptr) {
		if fd, err = unix.GetsockoptInt(int(sock), unix.SOL_SOCKET, soPeerPIDFD); err == nil {
			unix.CloseOnExec(fd)
			return
		}
		fd = -1
		if cred.Pid > 0 {
			if fd, err = unix.PidfdOpen(int(cred.Pid), 0); err == nil && hungUp(sock) {
				_ = unix.Close(fd)
				fd, err = -1, unix.ESRCH
			}
		}
	})
	if ctl != nil {
		return nil, ctl
	}
	if fd < 0 && sent >= 0 && pidfdNames(sent, cred.Pid) {
		fd, err = unix.FcntlInt(uintptr(sent), unix.F_DUPFD_CLOEXEC, 0)
	}
	if fd < 0 {
		return nil, refuse(ErrUnsupported, "shm: attach: no pidfd for pid %d: %v; spdl needs Linux 5.14 or newer and a peer that lives", cred.Pid, err)
	}
	return pidfdFile(fd)
}

// pidfdFile puts a pidfd on the netpoller.
func pidfdFile(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, because(err, ErrSystem, "shm: pidfd: %v", err)
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

func hungUp(sock uintptr) bool {
	p := []unix.PollFd{{Fd: int32(sock), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err != nil || n > 0 && p[0].Revents&(unix.POLLHUP|unix.POLLRDHUP|unix.POLLERR) != 0
}

// pidfdNames says whether a descriptor that a peer sent is a pidfd of a living process: of pid, or, when the peer's pid
// is unknown here (0), of any.
func pidfdNames(fd int, pid int32) bool {
	info, err := os.Open(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return false
	}
	defer info.Close()
	lines := bufio.NewScanner(info)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "Pid:"); ok {
			value = strings.TrimSpace(value)
			return value == fmt.Sprint(pid) || pid == 0 && value != "-1"
		}
	}
	return false
}
