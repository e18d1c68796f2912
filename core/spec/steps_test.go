package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A mask's step whose filter mixes numbers of classes is refused, and what is to be written in its place is taken.
func TestTheFilterThatAMaskIsToldToWriteIsTaken(t *testing.T) {
	needs := map[string]string{"random_rotation": "degrees: 9, ", "random_affine": "degrees: 9, ", cropAndPad: "percent: 0.1, ", resizedCrop: "size: 64, ", randomScaling: "scale: 0.1, "}
	mixers := 0
	for _, k := range kinds {
		if _, is := k.Step.(mixer); !is || k.class != turning || slices.Contains(byBoxes, k.Name()) {
			continue // those that go by boxes are of no mask
		}
		mixers++
		told := func(by string) error {
			op := fmt.Sprintf("{%s: {%sinterpolation: %s}}", k.Name(), needs[k.Name()], by)
			order := []string{"{center_crop: 64}", op}
			if k.early == always {
				slices.Reverse(order)
			}
			_, err := Parse([]byte("source: {folder: p}\nimage: {mode: index, transform: ["+strings.Join(order, ", ")+"]}\n"), "x.yaml")
			return err
		}
		refused := 0
		for _, by := range []string{"bilinear", "cv2_linear"} {
			err := told(by)
			if err == nil {
				t.Errorf("%s by %s: taken, want a refusal", k.Name(), by)
				continue
			}
			_, remedy, found := strings.Cut(err.Error(), "; write {interpolation: ")
			if !found {
				continue // no filter of this one's
			}
			refused++
			if err := told(strings.TrimSuffix(remedy, "}")); err != nil {
				t.Errorf("%s by %s: what it was told to write is refused: %v", k.Name(), by, err)
			}
		}
		if refused != 1 {
			t.Errorf("%s: %d refusals with a filter in its place, want one", k.Name(), refused)
		}
	}
	if mixers == 0 {
		t.Error("no step of masks has a filter")
	}
}
