// Command spdl serves data sets as batches in shared memory, and looks at those that are served.
//
//	spdl serve /data/train --size 224 --batch 64
//
// Every verb explains itself: spdl VERB --help.
package main

import (
	"os"

	"github.com/spdl/spdl/cmd/spdl/verbs"
)

func main() { os.Exit(verbs.Main(os.Args[1:], os.Stdout, os.Stderr)) }
