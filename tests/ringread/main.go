// Command ringread is a consumer in Go for the tests: it attaches to a ring, reads it to its end and prints the tickets as JSON; or,
// without an argument, the layout that it speaks. A refusal is its text on stderr, and its status as exit code, without the sign.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spdl/spdl/shm"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Printf("%d.%d\n", shm.LayoutMajor, shm.LayoutMinor)
		return
	}
	tickets, err := read(os.Args[1], os.Args[2])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(tickets)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		var status shm.Status
		if errors.As(err, &status) && status < 0 {
			os.Exit(int(-status))
		}
		os.Exit(1)
	}
}

func read(name, group string) (tickets []uint64, err error) {
	r, err := shm.Attach(context.Background(), name, shm.AttachOptions{Group: group, MaxLeases: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		batch, err := r.Acquire(context.Background())
		switch {
		case errors.Is(err, shm.EndData):
			return tickets, nil
		case errors.Is(err, shm.EndEpoch):
			continue
		case err != nil:
			return nil, err
		}
		tickets = append(tickets, batch.Ticket)
		if err := batch.Release(); err != nil {
			return nil, err
		}
	}
}
