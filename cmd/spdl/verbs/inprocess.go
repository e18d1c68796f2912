package verbs

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// ServeInProcess is `spdl serve ARGS...` as a part of the process that consumes: it serves the other end of control
// until that hangs up or ctx ends, and then returns. parent is a pidfd of this process. It takes both descriptors, touches no
// signal, and writes its log to err. A refusal is told over control, as a child engine does.
//
// feed is what the samples of source.host come through; it belongs to this engine alone.
func ServeInProcess(ctx context.Context, args []string, control, parent int, err io.Writer, feed *source.Feed) {
	a := &app{out: io.Discard, err: err, started: time.Now(), inProcess: true, feed: feed, control: os.NewFile(uintptr(control), "control")}
	root := a.root()
	root.SetArgs(append([]string{"serve", "--child", "--parent-fd", strconv.Itoa(parent)}, args...))
	failure := executed(ctx, root)
	if a.control == nil {
		return // the server had both
	}
	if failure == nil {
		failure = errHelpAsked
	}
	_ = unix.Close(parent)
	_ = shm.RefuseOwner(a.control, told(failure)) // a consumer that has hung up asks no more
}

// executed runs the command; a panic, a bug of ours, is an error too: the process is not ours to end.
func executed(ctx context.Context, root *cobra.Command) (failure error) {
	defer func() {
		if r := recover(); r != nil {
			failure = fmt.Errorf("serve: the engine panicked, which is a bug: %v\n%s", r, debug.Stack())
		}
	}()
	return root.ExecuteContext(ctx)
}
