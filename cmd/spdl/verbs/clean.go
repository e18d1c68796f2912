package verbs

import (
	"fmt"

	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

func (a *app) clean() *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed engines left behind",
		Long: `Clean removes rings in /dev/shm and sockets whose engines are proved dead: nobody holds the lock that an engine keeps
on its ring for life, nobody answers at the socket. What belongs to a running engine, or cannot be opened by this user, stays.

An engine that starts under the name of a dead one does this for itself.`,
		Example: `  spdl clean --dry-run
  spdl clean`,
		Args: none("clean"),
		RunE: func(*cobra.Command, []string) error { return a.cleanUp(dry) },
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "only list what would be removed")
	return c
}

func (a *app) cleanUp(dry bool) error {
	rings, err := shm.Leftovers()
	if err != nil {
		return err
	}
	word := "removed"
	if dry {
		word = "stale"
	}
	var count, kept int
	var freed int64
	for i := range rings {
		r := &rings[i]
		if !r.Stale {
			kept++
			continue
		}
		if !dry {
			if err := r.Remove(); err != nil {
				fmt.Fprintf(a.err, "spdl: clean: %v\n", err)
				kept++
				continue
			}
		}
		count++
		freed += r.Bytes
		fmt.Fprintf(a.out, "%s ring %s of engine %d: %d files, %s\n", word, r.Name, r.EnginePID, len(r.Files), bytesText(r.Bytes))
	}
	sockets, err := shm.StaleSockets(!dry)
	for _, path := range sockets {
		fmt.Fprintf(a.out, "%s socket %s\n", word, path)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %d rings (%s), %d sockets; %d rings in use\n", word, count, bytesText(freed), len(sockets), kept)
	return nil
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
