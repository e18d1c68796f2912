// Package golden holds the shared-memory layout together: layout.h, its Go twin in package shm, the tables of
// docs/layout.md, and sealed segments as bytes, from one description that is compared with each of them.
//
// [Generate] computes every golden file: layout.tsv (each field's offset and size), constants.tsv, fields.inc (the same
// for c/check.c), the segments of a small ring in segments/, broken variants of them, and the tables of docs/layout.md.
// `go run ./tests/golden/gen` writes them, for review in the diff; the test compares them with what is committed. c/check.c
// and check_layout.py check the same files from C and Python.
//
// Not covered: the data segment, which has no structure of its own.
package golden
