package verbs

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// ServeInProcess is `spdl serve ARGS...` as a part of the process that consumes: it serves the other end of control
// until that hangs up, and then returns. parent is a pidfd of this process. It takes both descriptors, touches no
// signal, and writes its log to err. A refusal is told over control, as a child engine does.
func ServeInProcess(args []string, control, parent int, err io.Writer) {
	a := &app{out: io.Discard, err: err, started: time.Now(), inProcess: true, control: os.NewFile(uintptr(control), "control")}
	root := a.root()
	root.SetArgs(append([]string{"serve", "--child", "--parent-fd", strconv.Itoa(parent)}, args...))
	failure := root.ExecuteContext(context.Background())
	if a.control == nil {
		return // the server had both
	}
	if failure == nil {
		failure = usage("serve: %q only prints something; leave it out to serve", args)
	}
	_ = unix.Close(parent)
	_ = shm.RefuseOwner(a.control, told(failure)) // a consumer that has hung up asks no more
}
