package hosted

import "time"

type Pipeline struct{ name string }

type Items struct {
	one  uint64
	many []uint64
	List bool
}

func (i *Items) Len() int               { return 1 }
func (i *Items) CopyTo(out []uint64)    {}

type Work struct {
	Kind    int
	Items   Items
	Epoch   uint64
	Attempt int
	Worker  int
	Token   uint64
}
type Given struct {
	More, End, List, Skip bool
	Items                 []uint64
	Path                  int
	Paths                 []int32
	Failed, Final, Fatal  bool
	Error                 string
}

func New(string) (*Pipeline, error)                                       { return &Pipeline{}, nil }
func (p *Pipeline) Start() error                                          { return nil }
func (p *Pipeline) HostStages() []string                                  { return nil }
func (p *Pipeline) Concurrency(int) int                                   { return 1 }
func (p *Pipeline) Stage(string) (int, error)                             { return 0, nil }
func (p *Pipeline) Take(int, time.Duration, uint64) (w Work, err error)   { return }
func (p *Pipeline) Get(time.Duration) (w Work, err error)                 { return }
func (p *Pipeline) Give(int, uint64, Given) error                         { return nil }
func (p *Pipeline) Drain()                                                {}
func (p *Pipeline) Stop()                                                 {}
func (p *Pipeline) Wait(time.Duration) error                              { return nil }
func (p *Pipeline) Failure() string                                       { return "" }
func (p *Pipeline) Stats() string                                         { return "" }
func (p *Pipeline) Reclaim([]uint64) int                                  { return 0 }
func (p *Pipeline) Free() error                                           { return nil }
func (p *Pipeline) ThreadEnded(uint64)                                    {}
