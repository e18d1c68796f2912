// Rowtool decodes rows for the comparisons in tests/exact. It reads one JSON
// request a line and answers each with one JSON line, then, on success, the
// row's bytes.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spdl/spdl/core/media"
)

type request struct {
	Path        string       `json:"path"`
	Config      media.Config `json:"config"`
	Draw        media.Draw   `json:"draw"`
	PortableToo bool         `json:"portable_too"` // decode again in plain C and compare
}

type answer struct {
	Bytes int        `json:"bytes"`
	Shape [3]int     `json:"shape"`
	Info  media.Info `json:"info"`
	Error string     `json:"error,omitempty"`
	Cause string     `json:"cause,omitempty"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "rowtool:", err)
		os.Exit(1)
	}
}

func serve() error {
	best, err := media.NewWorker(nil)
	if err != nil {
		return err
	}
	defer best.Close()
	portable, err := media.NewWorker(&media.Options{Portable: true})
	if err != nil {
		return err
	}
	defer portable.Close()
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return out.Flush()
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		a, row := one(best, portable, &r)
		header, err := json.Marshal(a)
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

func one(best, portable *media.Worker, r *request) (answer, []byte) {
	data, err := os.ReadFile(r.Path)
	if err != nil {
		return answer{Error: err.Error()}, nil
	}
	op, err := media.Compile(r.Config)
	if err != nil {
		return answer{Error: err.Error()}, nil
	}
	row := make([]byte, op.RowBytes())
	info, err := best.Row(row, data, op, r.Draw)
	if err != nil {
		a := answer{Info: info, Error: err.Error()}
		var caused interface{ Cause() string }
		if errors.As(err, &caused) {
			a.Cause = caused.Cause()
		}
		return a, nil
	}
	if r.PortableToo {
		again := make([]byte, len(row))
		if _, err := portable.Row(again, data, op, r.Draw); err != nil || string(again) != string(row) {
			return answer{Error: fmt.Sprintf("plain C differs from %s (error %v)", best.ISA(), err)}, nil
		}
	}
	return answer{Bytes: len(row), Shape: op.Shape(), Info: info}, row
}
