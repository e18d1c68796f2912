// Package verbs is the spdl command: one file and one test per verb.
//
//	os.Exit(verbs.Main(os.Args[1:], os.Stdout, os.Stderr))
//
// A verb reads its flags, asks core/engine or shm, and prints; it decides nothing else. What it was asked for goes to
// standard output, what went wrong and what goes on to standard error, as one line "spdl: where: what; remedy". The exit codes
// are in exit.go and in docs/failures.md.
//
// Not covered: several runs of Main at a time; it reacts to the process's signals.
package verbs
