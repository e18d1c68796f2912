package verbs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// versions are what identifies a build.
type versions struct {
	Version string `json:"version"`
	Layout  string `json:"layout"` // of shared memory
	media.Build
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) version() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of the command, the layout and the libraries",
		Example: "  spdl version\n  spdl version --json",
		Args:    none("version"),
		RunE: func(*cobra.Command, []string) error {
			build, err := media.Versions()
			if err != nil {
				return fmt.Errorf("version: %w", err)
			}
			v := versions{
				Version: Version, Layout: fmt.Sprintf("%d.%d", shm.LayoutMajor, shm.LayoutMinor), Build: build,
				Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(v)
			}
			fmt.Fprintf(a.out, "spdl %s, layout %s, %s, %s\n", v.Version, v.Layout, v.Platform, v.Go)
			fmt.Fprintf(a.out, "%s, %s, %s, FFmpeg %s, instruction set %s\n", v.JPEG, v.Deflate, v.WebP, cmp.Or(v.FFmpeg, "left out (built with noffmpeg)"), v.ISA)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
