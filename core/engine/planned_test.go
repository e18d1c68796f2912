package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// With world: auto a plan is that of the engine that the same environment would start.
func TestPlanResolvesTheWorldAsTheEngineDoes(t *testing.T) {
	leavesNothing(t)
	for name, value := range map[string]string{"WORLD_SIZE": "4", "RANK": "3"} {
		t.Setenv(name, value)
	}
	dir := folder(t, 32, nil)
	s := describe(t, dir, "batch: 2\nworld: auto\n")
	p, err := OpenPlan(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if o, err := p.Order(4); err != nil || o.GlobalBatch() != 8 || s.World.Size != 4 || s.World.Rank != 3 {
		t.Errorf("got a world of %+v, %v; want rank 3 of 4", s.World, err)
	}
}

// A plan and a profile look at the source itself: they open no cache, and leave nothing open.
func TestPlanOpensNoCacheAndLeavesNothing(t *testing.T) {
	leavesNothing(t)
	cache := filepath.Join(t.TempDir(), "cache")
	s := describe(t, folder(t, 8, nil), "batch: 2\ncache: {dir: "+cache+"}\n")
	p, err := OpenPlan(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(cache); err == nil {
		t.Error("the plan made the cache's directory")
	}
}
