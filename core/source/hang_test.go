package source

import (
	"archive/tar"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An opening that makes no step between two looks is given up; one that steps, or works, may take as many looks as it likes.
func TestOpeningThatHangsIsGivenUp(t *testing.T) {
	looks, at, goOn := make(chan time.Time), make(chan struct{}), make(chan struct{})
	answered := make(chan error, 1)
	closed := make(chan struct{})
	seen := make(chan struct{})
	go func() {
		_, err := within(telling{background, seen}, looks, time.Second, func(p *Progress) (Source, error) {
			for _, say := range []func(){p.Step, p.Work, p.Step} {
				say()
				at <- struct{}{}
				<-goOn
			}
			return closing{closed: closed}, nil
		})
		answered <- err
	}()
	look := func() {
		looks <- time.Time{}
		select {
		case <-seen:
		case err := <-answered:
			t.Fatalf("given up while it went on: %v", err)
		}
	}
	<-seen
	<-at
	look() // the first step is news
	goOn <- struct{}{}
	<-at
	for range 3 {
		look() // it works
	}
	goOn <- struct{}{}
	<-at
	look()
	looks <- time.Time{}
	if err := <-answered; err == nil || !strings.Contains(err.Error(), "the file system hangs: it has not answered for 1s while the samples were looked for") {
		t.Fatalf("got %v", err)
	}
	goOn <- struct{}{}
	<-closed // by the opening itself, which nobody waited for
}

// telling is a context that tells each time somebody is about to wait for its end.
type telling struct {
	context.Context
	waits chan<- struct{}
}

func (a telling) Done() <-chan struct{} {
	a.waits <- struct{}{}
	return a.Context.Done()
}

// closing is a source that tells when it is closed.
type closing struct {
	Source
	closed chan struct{}
}

func (c closing) Close() error {
	close(c.closed)
	return nil
}

// Whoever waits for an opening may give up before.
func TestOpeningEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	hangs := make(chan struct{})
	_, err := within(ctx, nil, time.Second, func(*Progress) (Source, error) {
		cancel()
		<-hangs
		return nil, errors.New("too late")
	})
	close(hangs)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// Every kind of source tells of its steps while it is opened: more files, more steps.
func TestOpeningTellsOfItsSteps(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a/1.jpg", "p")
	write(t, dir+"/b/2.jpg", "p")
	write(t, dir+"/list.tsv", "a/1.jpg\n")
	write(t, dir+"/table.csv", "path\na/1.jpg\n")
	write(t, dir+"/a.tar", string(tarOf(t, tar.FormatGNU, pairs(0, 50)...)))
	writeParquet(t, filepath.Join(dir, "a.parquet"), pictureRows(0, 3), 3)
	for name, c := range map[string]struct {
		least int64
		open  func(p *Progress) (Source, error)
	}{
		"folder": {6, func(p *Progress) (Source, error) { return OpenFolder(FolderConfig{Dir: dir, Progress: p}) }},
		"list":   {1, func(p *Progress) (Source, error) { return OpenList(ListConfig{File: dir + "/list.tsv", Progress: p}) }},
		"table":  {1, func(p *Progress) (Source, error) { return OpenList(ListConfig{File: dir + "/table.csv", Progress: p}) }},
		"shards": {3, func(p *Progress) (Source, error) {
			return OpenShards(background, ShardsConfig{Shards: []string{dir + "/a.tar"}, IndexDir: t.TempDir(), Progress: p})
		}},
		"parquet": {2, func(p *Progress) (Source, error) {
			return OpenParquet(background, ShardsConfig{Shards: []string{dir + "/a.parquet"}, Progress: p})
		}},
	} {
		var p Progress
		s, err := c.open(&p)
		must(t, err)
		must(t, s.Close())
		if got := p.steps.Load(); got < c.least {
			t.Errorf("%s: %d steps, want at least %d", name, got, c.least)
		}
	}
}
