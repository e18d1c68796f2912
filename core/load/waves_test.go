package load

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// hush has the next sounds begin without a worker.
func hush() {
	for _, l := range quiet.all {
		l.worker.Close()
	}
	quiet.all = nil
}

// What a sound becomes does not depend on what its worker heard before, nor on who listens beside it: one of other lengths and descriptions, or a broken one.
func TestASoundIsTheSameWhateverItsWorkerHeardBefore(t *testing.T) {
	type one struct {
		description string
		data        []byte
	}
	var all []one
	for _, n := range []int{1, 700, 9000, 40000} {
		for _, section := range []string{`{}`, `{"rate": 5000}`, `{"rate": 5000, "length": 3000, "channels": 1, "crop": "random"}`, `{"dtype": "i16", "layout": "NLC"}`, `{"length": 500, "channels": 2, "shape": "ragged"}`,
			`{"features": {"kind": "mel", "n_fft": 256, "n_mels": 20}}`, `{"rate": 16000, "features": {"kind": "fbank"}}`, `{"gain": {"db": [-6, 6]}, "normalize": "peak"}`, `{"pre_emphasis": 0.9}`} {
			all = append(all, one{`{"audio": ` + section + `}`, sound(n)}, one{`{"audio": ` + section + `}`, sound(n)[:44+n]})
		}
	}
	told := func(o one) string {
		m, err := Load([]byte(o.description), Source{Bytes: o.data}, nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %+v %x", shapes(m), m.Info, m.Tensors[0].Data)
	}
	want := make([]string, len(all))
	for i := range all {
		forget()
		hush()
		if want[i] = told(all[i]); i%2 == 0 && bytes.HasPrefix([]byte(want[i]), []byte("sample: ")) {
			t.Errorf("%s: %s", all[i].description, want[i])
		}
	}
	var group sync.WaitGroup
	for k := range 3 {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := range 4 {
				for i := range all {
					i = (i*7 + k*11 + round) % len(all)
					if got := told(all[i]); got != want[i] {
						t.Errorf("%s of %d bytes: %.100s, by a worker of its own %.100s", all[i].description, len(all[i].data), got, want[i])
					}
				}
			}
		}()
	}
	group.Wait()
	if n := len(quiet.all); n == 0 || n > runtime.GOMAXPROCS(0) {
		t.Errorf("%d workers wait, want 1 to %d", n, runtime.GOMAXPROCS(0))
	}
	hush()
}

// Workers wait for the next sound, but for those of a long one, of a broken one, and of what is of one sound alone.
func TestAWorkerIsKeptBehindAShortSound(t *testing.T) {
	hush()
	for _, c := range []struct {
		section string
		data    []byte
		want    int
	}{
		{`{}`, sound(100), 1},
		{`{"rate": 4000, "length": 60, "channels": 1}`, sound(100), 1},
		{`{}`, sound(mostHeard + 1), 0},
		{`{"rate": 8000000}`, sound(mostHeard / 500), 0},
		{`{}`, sound(100)[:200], 0},
		{`{"features": {"kind": "mel", "n_fft": 16, "n_mels": 2}}`, sound(100), 1}, // the one that found the length
	} {
		for range 2 {
			_, err := Load([]byte(`{"audio": `+c.section+`}`), Source{Bytes: c.data}, nil)
			if len(quiet.all) != c.want {
				t.Errorf("%s of %d bytes: %d workers wait behind it, want %d (%v)", c.section, len(c.data), len(quiet.all), c.want, err)
			}
		}
		hush()
	}
}
