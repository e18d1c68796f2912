package load

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// A server gives one description, or a few, with every sample: to read and to compile one takes longer than to decode a small picture. So what they
// became is kept: of descriptions of up to mostText bytes the last mostRecipes, of pictures' sizes the last mostRecipes, each with 27 KB of tables.
const (
	mostRecipes = 64
	mostText    = 16 << 10
)

var (
	recipes  = recent[string, *recipe]{most: mostRecipes}
	batches  = recent[string, *gathering]{most: mostRecipes}
	pictures = recent[sizing, *prepared]{most: mostRecipes}
)

// recipe is a description of one sample, read. It is shared, and never written.
type recipe struct {
	plain  *plain     // not nil: what needs no section
	sample *spec.Spec // else
}

// recipeOf reads a description. Errors are *spec.Error.
func recipeOf(description []byte) (*recipe, error) {
	return recipes.of(string(description), len(description) <= mostText, func() (*recipe, error) {
		keys := spec.TopKeys(description)
		if len(keys) > 0 && slices.Contains(plainKeys, keys[0]) {
			p, err := readPlain(description, keys)
			return &recipe{plain: p}, err
		}
		s, err := spec.ParseSample(description)
		return &recipe{sample: s}, err
	})
}

// own is the sample's description for who fixes its size.
func (r *recipe) own() *spec.Spec { return own(r.sample) }

func own(of *spec.Spec) *spec.Spec {
	s := *of
	if s.Image != nil {
		i := *s.Image
		s.Image = &i
	}
	if s.Video != nil {
		v := *s.Video
		s.Video = &v
	}
	return &s
}

// sizing is a picture's description and what is known of the picture.
type sizing struct {
	recipe       *recipe
	seen         spec.Extent // 1 x 1 where the description says what it becomes
	resize, crop spec.Extent // in place of a transform; zero: none
}

// prepared is what a picture of one size becomes. It is shared, and never written.
type prepared struct {
	op    *media.Op
	dtype tensor.DType
	shape tensor.Shape // of the row, or of a tile
	// channels0: [C, H, W]
	channels0, patches bool
}

// compiled is the picture of a size. Errors are *spec.Error, and those of media.Compile.
func (s sizing) compiled() (*prepared, error) {
	return pictures.of(s, true, func() (*prepared, error) {
		own := s.recipe.own()
		i := own.Image
		if s.resize != (spec.Extent{}) {
			i.Transform.Resize = &spec.Resize{Extent: s.resize, Interpolation: spec.Bilinear}
		}
		if s.crop != (spec.Extent{}) {
			i.Transform.CenterCrop = &spec.CenterCrop{Extent: s.crop}
		}
		if err := fixSize(own, s.seen.Height, s.seen.Width); err != nil {
			return nil, err
		}
		op, err := media.Compile(PictureConfig(i))
		return &prepared{op, i.DType, i.RowShape(), i.Layout == spec.NCHW, i.Patches != nil}, err
	})
}

// usualSide is a picture's with which every description is content that is right.
const usualSide = 512

// fixSize is FixSize. Where a picture of the usual size could be what s says, and this one cannot, it is the sample that is wrong: the error is no *spec.Error then.
func fixSize(s *spec.Spec, h, w int) error {
	usual := own(s)
	err := s.FixSize(h, w)
	var described *spec.Error
	if errors.As(err, &described) && usual.FixSize(usualSide, usualSide) == nil {
		return fmt.Errorf("a picture of %d x %d: %s: %s", h, w, described.Path, described.Text)
	}
	i := s.Image
	if s.Video != nil {
		i = &s.Video.Frame
	}
	if out := i.Transform.Output(); err == nil && max(out.Height, out.Width) > media.MaxSide {
		return fmt.Errorf("a picture of %d x %d: it becomes one of %d x %d, want sides of at most %d; resize it by two sides (resize: [H, W]), or crop it", h, w, out.Height, out.Width, media.MaxSide)
	}
	return err
}

// recent keeps what was asked for last, at most so much; what nobody has asked for longest goes first. Any number of goroutines may use it.
type recent[K comparable, V any] struct {
	most int

	mu  sync.Mutex
	all map[K]*kept[V]
	now uint64 // counts what was asked for
}

type kept[V any] struct {
	value V
	asked uint64
}

// of is what is kept for k, or else what is made, which is kept where that is wanted and no error. Several goroutines may make the same at once.
func (r *recent[K, V]) of(k K, keep bool, make func() (V, error)) (V, error) {
	if v, ok := r.get(k); ok {
		return v, nil
	}
	v, err := make()
	if err == nil && keep {
		r.put(k, v)
	}
	return v, err
}

func (r *recent[K, V]) get(k K) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now++
	at, ok := r.all[k]
	if ok {
		at.asked, v = r.now, at.value
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.all[k]; len(r.all) >= r.most && !there {
		var oldest K
		asked := r.now + 1
		for k, at := range r.all {
			if at.asked < asked {
				oldest, asked = k, at.asked
			}
		}
		delete(r.all, oldest)
	}
	if r.all == nil {
		r.all = map[K]*kept[V]{}
	}
	r.all[k] = &kept[V]{v, r.now}
}
