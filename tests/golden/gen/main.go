// Command gen rewrites the golden files and the tables of docs/layout.md. Run it at the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/tests/golden"
)

func main() {
	files, err := golden.Generate(".")
	if err == nil {
		err = write(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
