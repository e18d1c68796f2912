package verbs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

func (a *app) clean() *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "clean [NAME...]",
		Short: "Remove what killed engines left behind",
		Long: `Clean removes rings in /dev/shm and sockets whose engines are proved dead: nobody holds the lock that an engine keeps
on its ring for life, nobody answers at the socket. What belongs to a running engine, or cannot be opened by this user, stays.
With names it looks at those engines only, and refuses when one of them lives.

An engine that starts under the name of a dead one goes on with its ring, or with --fresh begins anew; one that another description made is
refused until it is removed.`,
		Example: `  spdl clean --dry-run
  spdl clean
  spdl clean imagenet`,
		RunE: func(_ *cobra.Command, names []string) error { return a.cleanUp(names, dry) },
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "only list what would be removed")
	return c
}

// dead is something a killed engine left.
type dead struct {
	engine string // its name
	what   string
	bytes  int64
	remove func() error
}

func (a *app) cleanUp(names []string, dry bool) error {
	all, err := leftBehind(names)
	if err != nil {
		return err
	}
	word := "removed"
	if dry {
		word = "stale"
	}
	var freed int64
	var failures []error
	for _, d := range all {
		if !dry {
			if err := d.remove(); err != nil {
				failures = append(failures, err)
				continue
			}
		}
		freed += d.bytes
		fmt.Fprintf(a.out, "%s %s\n", word, d.what)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.out, "nothing left behind")
	} else {
		fmt.Fprintf(a.out, "%s in all: %s\n", word, bytesText(freed))
	}
	return errors.Join(failures...)
}

// leftBehind finds what killed engines left, of those names or of all.
func leftBehind(names []string) (all []dead, err error) {
	rings, err := shm.Leftovers()
	if err != nil {
		return nil, err
	}
	for i := range rings {
		r := &rings[i]
		engine, _, _ := strings.Cut(r.Name, "/")
		switch named := slices.Contains(names, engine); {
		case named && !r.Stale:
			return nil, &because{fmt.Errorf("clean: ring %q is in use by engine %d; stop that first", r.Name, r.EnginePID), shm.ErrBusy}
		case r.Stale && (named || len(names) == 0):
			what := fmt.Sprintf("ring %s of engine %d: %s, %s", r.Name, r.EnginePID, counted(len(r.Files), "file"), bytesText(r.Bytes))
			all = append(all, dead{engine, what, r.Bytes, r.Remove})
		}
	}
	sockets, err := shm.StaleSockets()
	for _, path := range sockets {
		engine := strings.TrimSuffix(filepath.Base(path), ".sock")
		if len(names) == 0 || slices.Contains(names, engine) {
			all = append(all, dead{engine, "socket " + path, 0, func() error { return shm.RemoveStaleSocket(path) }})
		}
	}
	living, _ := shm.RunningSockets() // of a directory that is refused nothing is known, and nothing removed
	for _, path := range living {
		if name := strings.TrimSuffix(filepath.Base(path), ".sock"); slices.Contains(names, name) { // with backing memfd there is no file of it
			return nil, &because{fmt.Errorf("clean: %q: a running engine answers at %s; stop that first", name, path), shm.ErrBusy}
		}
	}
	for _, name := range names {
		if uid, foreign := shm.ForeignOwner(name); foreign && err == nil && !slices.ContainsFunc(all, func(d dead) bool { return d.engine == name }) {
			err = &because{fmt.Errorf("clean: %q: what is under this name belongs to user %d; clean it as that user or root", name, uid), shm.ErrDenied}
		}
		if err == nil && !slices.ContainsFunc(all, func(d dead) bool { return d.engine == name }) {
			err = &because{fmt.Errorf("clean: %q: nothing was left behind under this name; spdl inspect lists what there is", name), shm.ErrNotFound}
		}
	}
	return all, err
}

// none refuses arguments.
func none(verb string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("%s: got %q, want no argument", verb, args[0])
		}
		return nil
	}
}
