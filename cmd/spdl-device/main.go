// Command spdl-device uploads a ring's batches to a GPU. The engine starts it for a description with a section device; it is
// not for people.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/core/device/upload"
)

func main() { os.Exit(run(os.Args[1:])) }

// run ends with 0 when the engine is gone or asks for it, 1 when another try may help, 2 for a call that makes no sense, and
// device.ExitFinal when none will.
func run(args []string) int {
	flags := flag.NewFlagSet(device.Program, flag.ContinueOnError)
	control := flags.Int("control-fd", -1, "one end of a socket pair, the engine at the other")
	text := flags.String("plan", "", "what to upload, as JSON")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var plan device.Plan
	if err := json.Unmarshal([]byte(*text), &plan); err != nil || *control < 3 {
		fmt.Fprintln(os.Stderr, "spdl-device: want --control-fd and --plan; the engine starts this program, for a description with a section device")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	syscall.CloseOnExec(*control)
	warn := func(text string) { fmt.Fprintf(os.Stderr, "%s%s\n", device.Warning, text) }
	err := upload.Run(ctx, os.NewFile(uintptr(*control), "control"), plan, warn)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	var final interface{ Final() bool }
	if errors.As(err, &final) && final.Final() {
		return device.ExitFinal
	}
	return 1
}
