package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// archive is one that is being written: it has its name when Finish has returned, and after Abandon nothing is left of it.
type archive interface {
	io.Writer
	Finish() error
	Abandon()
}

const (
	uploadTime  = 5 * time.Minute // of one part of an object, with all attempts
	abandonTime = 30 * time.Second
)

// remote is an archive in an object store.
type remote struct {
	ctx    context.Context
	upload *store.Upload
	part   []byte // what is not written yet
}

func (s *shards) createRemote(path string) (archive, error) {
	u, err := s.store.Create(s.ctx, path)
	if err != nil {
		return nil, err
	}
	return &remote{s.ctx, u, make([]byte, 0, store.PartBytes)}, nil
}

func (r *remote) Write(b []byte) (n int, err error) {
	for n < len(b) {
		k := min(len(b)-n, store.PartBytes-len(r.part))
		r.part = append(r.part, b[n:n+k]...)
		if n += k; len(r.part) == store.PartBytes {
			if err := r.send(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (r *remote) send() error {
	err := r.upload.Part(r.ctx, r.part)
	r.part = r.part[:0]
	return err
}

func (r *remote) Finish() (err error) {
	if len(r.part) > 0 {
		err = r.send()
	}
	if err == nil {
		err = r.upload.Finish(r.ctx)
	}
	if err != nil {
		r.Abandon()
	}
	if errors.Is(err, store.ErrExists) {
		err = fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return err
}

// Abandon has the store forget the parts, also where the run was cancelled. What a store keeps that does not answer, its own rules have to remove.
func (r *remote) Abandon() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), abandonTime)
	defer cancel()
	_ = r.upload.Abandon(ctx)
}

// openStore reaches the store that archives go to.
func (s *shards) openStore() (err error) {
	switch {
	case strings.HasPrefix(store.Plain(s.c.Out), "gs://"):
		return fmt.Errorf("pack: out %q: %w: nothing is written to gs://, as an upload in parts replaces there what has its name by then; write to a directory, and copy that", s.c.Out, ErrName)
	case !strings.HasPrefix(store.Plain(s.c.Out), "s3://"):
		return fmt.Errorf("pack: out %q: %w: archives are written to a directory or to s3://BUCKET/", store.Shown(s.c.Out), ErrName)
	case s.c.Beside:
		return fmt.Errorf("pack: out %q: %w: indexes lie beside archives in a directory alone; leave that out", s.c.Out, ErrName)
	}
	if s.store, err = store.New(store.Options{Timeout: uploadTime}); err != nil {
		return err
	}
	return s.store.May(s.c.Out)
}

// noneInStore refuses names that objects have.
func (s *shards) noneInStore(dir, before string, like *regexp.Regexp) error {
	taken := errors.New("taken")
	name := ""
	err := s.store.List(s.ctx, dir+before, func(o store.Object) error {
		if name = o.URL; like.MatchString(strings.TrimPrefix(o.URL, store.Plain(dir))) {
			return taken
		}
		return nil
	})
	if err == taken {
		return fmt.Errorf("pack: out %q: %w by %q; remove what an earlier run wrote, or choose another", s.c.Out, ErrTaken, name)
	}
	if err != nil {
		return fmt.Errorf("pack: out: %w", err)
	}
	return nil
}
