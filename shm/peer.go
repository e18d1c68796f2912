package shm

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// soPeerPIDFD is SO_PEERPIDFD (Linux 6.5): a pidfd of the process that connected.
const soPeerPIDFD = 77

// MadeBy is the process that made a pair of sockets, of one end; 0 where the kernel does not say.
func MadeBy(end *os.File) int32 {
	cred, err := credentials(end)
	if err != nil {
		return 0
	}
	return cred.Pid
}

// credentials are the kernel's word on who connected, or made a pair of sockets.
func credentials(conn syscall.Conn) (*unix.Ucred, error) {
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

// admits says whether a peer may attach: the engine's user, root, or with mode 0640 whoever is in the engine's group, by its
// primary group or by one of groups, its supplementary ones.
func admits(cred *unix.Ucred, groups []uint32, mode os.FileMode) bool {
	ours := uint32(os.Getegid())
	return governs(cred) || mode&0o040 != 0 && (cred.Gid == ours || slices.Contains(groups, ours))
}

// soPeerGroups is SO_PEERGROUPS (Linux 4.13).
const soPeerGroups = 59

// supplementary are the groups that the peer had when it connected, by the kernel's word; none where it cannot tell.
func supplementary(conn *net.UnixConn) (groups []uint32) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) {
		bytes := uint32(0)
		for errno := unix.ERANGE; errno == unix.ERANGE; { // the first call says how many
			groups = make([]uint32, bytes/4+1)
			bytes = uint32(4 * len(groups))
			_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, soPeerGroups,
				uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&bytes)), 0)
			if errno != 0 && errno != unix.ERANGE {
				bytes = 0
			}
		}
		groups = groups[:bytes/4]
	})
	return groups
}

// governs says whether a peer may also stop the engine and evict its consumers.
func governs(cred *unix.Ucred) bool {
	return cred.Uid == 0 || int(cred.Uid) == os.Geteuid()
}

// SelfPIDFD is a pidfd of this process.
func SelfPIDFD() (*os.File, error) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), "pidfd"), nil
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return nil, because(err, ErrSystem, "pidfd_open: %v", err)
	}
	return nil, because(err, ErrUnsupported, "pidfd_open: %v; spdl needs Linux 5.14 or newer", err)
}

// peerPIDFD is a pidfd of the peer, by the best way there is: the kernel's, else one of its pid, else the one it sent
// itself, which is all there is across pid namespaces on an old kernel.
func peerPIDFD(conn *net.UnixConn, cred *unix.Ucred, sent int) (*os.File, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	full := false
	ctl := raw.Control(func(sock uintptr) {
		for _, way := range []func() (int, error){
			func() (int, error) { return kernelPIDFD(sock) },
			func() (int, error) { return openPIDFD(sock, cred.Pid) },
			func() (int, error) { return sentPIDFD(sent, cred.Pid) },
		} {
			if fd, err = way(); err == nil {
				return
			}
			full = full || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
		}
	})
	switch {
	case ctl != nil:
		return nil, ctl
	case err != nil && full:
		return nil, refuse(ErrSystem, "shm: attach: pidfd of pid %d: %v; raise the limit of open files (ulimit -n)", cred.Pid, unix.EMFILE)
	case err != nil:
		return nil, refuse(ErrUnsupported, "shm: attach: no pidfd for pid %d: %v; spdl needs Linux 5.14 or newer and a peer that lives", cred.Pid, err)
	}
	return pidfdFile(fd)
}

// kernelPIDFD asks the socket who connected.
func kernelPIDFD(sock uintptr) (int, error) {
	fd, err := unix.GetsockoptInt(int(sock), unix.SOL_SOCKET, soPeerPIDFD)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}

// openPIDFD opens the pid, and believes it only if the peer's socket is still connected afterwards: then the pid had
// not been given to another process before.
func openPIDFD(sock uintptr, pid int32) (int, error) {
	if pid <= 0 {
		return -1, unix.ESRCH
	}
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err == nil && hungUp(sock) {
		_ = unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, err
}

// sentPIDFD copies the descriptor that the peer sent if it is a pidfd of pid.
func sentPIDFD(sent int, pid int32) (int, error) {
	if sent < 0 || !pidfdNames(sent, pid) {
		return -1, unix.ESRCH
	}
	return unix.FcntlInt(uintptr(sent), unix.F_DUPFD_CLOEXEC, 0)
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
