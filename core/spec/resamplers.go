package spec

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resamplers are the filters of what resizes: Pillow's, then OpenCV's and torch's.
var resamplers = []Interpolation{Bilinear, Bicubic, Lanczos, BoxFilter, HammingFilter, Nearest, CV2Linear, CV2Nearest, CV2Area, CV2Cubic, CV2Lanczos4, TorchNearest, TorchBilinear, TorchBicubic, TorchLanczos, TorchNearestExact}

// ofPillow says whether the filter is one of Pillow's, not of cv2.resize's or torch's.
func (i Interpolation) ofPillow() bool {
	return !strings.HasPrefix(string(i), "torch_") && !strings.HasPrefix(string(i), "cv2_")
}

// picks says whether pixels stay what they are: none are mixed.
func (i Interpolation) picks() bool {
	return i == Nearest || i == CV2Nearest || i == TorchNearest || i == TorchNearestExact
}

// resampler reads the interpolation of what resizes, one of all or of more. OpenCV's own names and numbers are told what they are here.
func (d *decoder) resampler(s *section, dst *Interpolation, more ...Interpolation) {
	const key = "interpolation"
	among := slices.Concat(resamplers, more)
	if n := s.values[key]; n != nil {
		if hint := interpolationHint(target(n)); hint != "" {
			s.fail(key, "got %s, want one of %s; %s", describe(n), words(among), hint)
			return
		}
	}
	choice(s, key, dst, among...)
}

func words(all []Interpolation) string {
	names := make([]string, len(all))
	for i, w := range all {
		names[i] = string(w)
	}
	return strings.Join(names, ", ")
}

// cv2Numbers are OpenCV's filters by their numbers, with what Pillow's numbers mean.
var cv2Numbers = []struct {
	cv2, pillow Interpolation
}{{CV2Nearest, Nearest}, {CV2Linear, Lanczos}, {CV2Cubic, Bilinear}, {CV2Area, Bicubic}, {CV2Lanczos4, BoxFilter}}

// interpolationHint is what to write in place of a filter as OpenCV's programs name or number it, "" of all else.
func interpolationHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	if len(n.Value) == 1 && n.Value[0] >= '0' && int(n.Value[0]-'0') < len(cv2Numbers) {
		both := cv2Numbers[n.Value[0]-'0']
		return n.Value + " is " + string(both.cv2) + " among OpenCV's numbers, " + string(both.pillow) + " among Pillow's"
	}
	name := strings.TrimPrefix(bare(n.Value), "cv2.")
	of, given := strings.CutPrefix(name, "inter")
	switch {
	case of == "nearestexact":
		return "there is no INTER_NEAREST_EXACT; nearest, Pillow's, takes the pixel under the middle, too"
	case of == "linearexact":
		return "there is no INTER_LINEAR_EXACT; cv2_linear, INTER_LINEAR, is within 1 of it"
	case !given && (of == "linear" || of == "cubic"):
		return "bi" + of + " is Pillow's, cv2_" + of + " OpenCV's"
	case !given && of != "area" && of != "lanczos4":
		return "" // Pillow's, or nobody's
	case slices.Contains(resamplers, Interpolation("cv2_"+of)):
		return "did you mean cv2_" + of + "?"
	}
	return ""
}
