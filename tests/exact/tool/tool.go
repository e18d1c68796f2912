// Package tool is what the programs behind the comparisons in tests/exact have in common: they read one JSON request a line and
// answer each with one JSON line, then, on success, the row's bytes.
package tool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Head is in every answer.
type Head struct {
	Bytes int    `json:"bytes"` // of the row behind the line
	Error string `json:"error,omitempty"`
	Cause string `json:"cause,omitempty"`
}

// Answer is a struct that has a Head in it.
type Answer interface{ head() *Head }

func (h *Head) head() *Head { return h }

// Main answers requests with what one makes of them, until there are no more. An answer with an error has no row.
func Main[Request any](name string, one func(*Request) (Answer, []byte, error)) {
	if err := serve(one); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func serve[Request any](one func(*Request) (Answer, []byte, error)) error {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return out.Flush()
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		answer, row, err := one(&r)
		if err != nil {
			row = nil
			answer.head().fail(err)
		}
		answer.head().Bytes = len(row)
		header, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		out.Write(append(header, '\n'))
		out.Write(row)
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func (h *Head) fail(err error) {
	h.Error = err.Error()
	var named interface{ Cause() string }
	if errors.As(err, &named) {
		h.Cause = named.Cause()
	}
}
