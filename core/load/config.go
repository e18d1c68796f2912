package load

import (
	"math"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// PictureConfig says what a picture, or a frame, becomes in core/media's words.
func PictureConfig(i *spec.Image) media.Config {
	t := &i.Transform
	c := media.Config{Orient: i.Orient, MaxPixels: uint64(i.MaxPixels)}
	size := func(e spec.Extent) media.Size { return media.Size{H: e.Height, W: e.Width} }
	if c.Out = size(t.Output()); i.Open() {
		c.Open = &media.Open{Room: size(i.Room), Dense: i.Shape == spec.Ragged}
	}
	if r := t.Resize; r != nil {
		c.ResizeShort, c.Longest, c.NearestSide, c.DETRSides, c.YOLOSSides, c.Fill = r.Short, r.MaxSize, r.Nearest, r.DETR, r.YOLOS, fill(r.Fill)
		switch {
		case r.Fit.Contain:
			c.Contain = &media.Contain{Corner: r.Fit.Corner, Shrink: r.Fit.Shrink, Letterbox: r.Fit.Letterbox}
		case r.Area != nil:
			c.ResizeArea = &media.ResizeArea{Min: r.Area.MinPixels, Max: r.Area.MaxPixels, Multiple: r.Area.MultipleOf, Up: r.Area.Up}
		default:
			c.Resize, c.Cover = size(r.Extent), r.Fit.Cover
		}
	}
	if s := t.Tiles; s != nil {
		c.Resize, c.Tiles = c.Out, tiles(s)
	}
	if p := i.Patches; p != nil {
		c.Patches = &media.Patches{Size: p.Size, Merge: p.Merge, Temporal: p.Temporal}
	}
	if r := t.RandomResize; r != nil {
		c.RandomResize = &media.RandomResize{Min: r.MinSize, Max: r.MaxSize}
	}
	if r := t.RandomShortestSize; r != nil {
		c.RandomShortest = &media.RandomShortest{Sizes: r.MinSize, Longest: r.MaxSize}
	}
	if j := t.ScaleJitter; j != nil {
		c.ScaleJitter = &media.ScaleJitter{Size: size(j.Extent), Scale: j.Scale}
	}
	border := func(b spec.Border) { c.Padding, c.Fill = paddings[b.Mode], fill(b.Fill) }
	if p := t.Pad; p != nil {
		c.Pad = media.Sides(p.Sides)
		border(p.Border)
	}
	if r := t.CenterCrop; r != nil {
		c.Corner, c.MiddleDown = corners[r.Position], r.Down
		border(r.Border)
	}
	if r := t.RandomCrop; r != nil {
		c.Anywhere, c.Pad = true, media.Sides(r.Padding)
		border(r.Border)
	}
	if r := t.RandomResizedCrop; r != nil {
		c.Random = &media.RandomCrop{Scale: r.Scale, Ratio: r.Ratio, Height: r.PartHeight, AnyFilter: r.Interpolation == spec.AnyFilter}
	}
	c.Interpolation = filters[t.Filter()]
	if r := t.RandomErasing; r != nil {
		c.Erase = &media.Erase{P: r.P, Scale: r.Scale, Ratio: r.Ratio, Value: r.Value, Noise: r.Noise, Parts: parts(r.Parts)}
	}
	if n := t.Normalize; n != nil {
		c.Normalize = &media.Normalize{Mean: n.Mean, Std: n.Std}
	}
	c.Mode = map[spec.Mode]media.Mode{spec.RGB: media.RGB, spec.Gray: media.Gray, spec.Luma: media.Luma, spec.Index: media.Index}[i.Mode]
	c.DType = map[tensor.DType]media.DType{tensor.U8: media.U8, tensor.F16: media.F16, tensor.BF16: media.BF16, tensor.F32: media.F32}[i.DType]
	if i.Layout == spec.NCHW {
		c.Layout = media.NCHW
	}
	numbers := t.GroupNumbers()
	c.Ahead, c.Resized, c.Steps = placed(t.Ahead, numbers), placed(t.Resized, numbers), placed(t.Steps, numbers)
	return c
}

// placed says steps in core/media's words, where those that are groups by their numbers.
func placed(steps []spec.Step, numbers map[spec.Step]int) (all []media.Placed) {
	add := func(s spec.Step, m media.Member, shuffled bool) {
		all = append(all, media.Placed{Step: step(s), Member: m, ByTorch: spec.ByTorch(s), Shuffled: shuffled})
	}
	for _, s := range steps {
		switch s := s.(type) {
		case *spec.RandomApply:
			for _, of := range s.Of {
				add(of, media.Member{Group: numbers[s], High: s.P}, false)
			}
		case *spec.RandomChoice:
			from := 0.0
			for i, of := range s.Of {
				m := media.Member{Group: numbers[s], Low: from, High: s.Upto[i]}
				if from = s.Upto[i]; s.N > 1 {
					m = media.Member{Group: numbers[s], High: 1, Pick: s.N, Of: len(s.Of), Which: i}
				}
				add(of, m, false)
			}
		case *spec.RandomOrder:
			for _, of := range s.Of {
				add(of, media.Member{}, true)
			}
		default:
			add(s, media.Member{}, false)
		}
	}
	return all
}

// tiles says them in core/media's words.
func tiles(t *spec.Tiles) *media.Tiles {
	c := &media.Tiles{By: tilings[t.Kind], Longest: t.LongestEdge}
	for _, g := range t.Grids() {
		c.Grids = append(c.Grids, media.Grid(g))
	}
	switch {
	case t.Thumbnail && t.Kind == spec.LLaVANeXT:
		c.Whole = media.WholeFirst
	case t.Thumbnail:
		c.Whole = media.WholeLast
	}
	return c
}

var tilings = map[string]media.Tiling{spec.InternVL: media.InternVL, spec.LLaVANeXT: media.LLaVANeXT, spec.MLlama: media.MLlama, spec.Idefics3: media.Idefics3}

var filters = map[spec.Interpolation]media.Interpolation{spec.AnyFilter: media.Bilinear, spec.Bilinear: media.Bilinear, spec.Bicubic: media.Bicubic, spec.Nearest: media.Nearest, spec.Lanczos: media.Lanczos, spec.BoxFilter: media.BoxFilter, spec.HammingFilter: media.HammingFilter,
	spec.CV2Linear: media.CV2Linear, spec.CV2Nearest: media.CV2Nearest, spec.CV2Area: media.CV2Area, spec.CV2Cubic: media.CV2Cubic, spec.CV2Lanczos4: media.CV2Lanczos4, spec.TorchNearest: media.TorchNearest, spec.TorchBilinear: media.TorchBilinear, spec.TorchBicubic: media.TorchBicubic, spec.TorchLanczos: media.TorchLanczos, spec.TorchNearestExact: media.TorchNearestExact}

var corners = map[string]media.Corner{spec.TopLeft: media.TopLeft, spec.TopRight: media.TopRight, spec.BottomLeft: media.BottomLeft, spec.BottomRight: media.BottomRight}

var paddings = map[string]media.Padding{spec.Edge: media.Edge, spec.Reflect: media.Reflect, spec.Symmetric: media.Symmetric}

func fill(f *spec.Fill) media.Fill {
	if f == nil {
		return media.Fill{}
	}
	return f.Values
}

// bare says that a tensor's map has no fill, not even black.
func bare(of spec.Arithmetic, f *spec.Fill) bool { return of == spec.OfTorch && f == nil }

func center(c spec.Pivot) *media.Center {
	if !c.Given {
		return nil
	}
	return &media.Center{X: c.X, Y: c.Y}
}

func bent(t *spec.Taken) media.Bent {
	return media.Bent{Interpolation: filters[t.Interpolation], Padding: paddings[t.Padding], Fill: fill(t.Fill)}
}

func parts(p *spec.Parts) *media.Parts {
	if p == nil {
		return nil
	}
	return &media.Parts{Count: p.Holes, Height: p.Height, Width: p.Width, Pixels: p.Pixels}
}

func jitter(j *spec.ColorJitter) *media.Jitter {
	return &media.Jitter{P: j.P, Brightness: j.Brightness, Contrast: j.Contrast, Saturation: j.Saturation, Hue: j.Hue}
}

func sized(e spec.Extent, by spec.Interpolation) media.Sized {
	return media.Sized{Size: media.Size{H: e.Height, W: e.Width}, Interpolation: filters[by]}
}

// step says a step in core/media's words.
func step(s spec.Step) media.Step {
	switch s := s.(type) {
	case *spec.Symmetry:
		return media.Chance{Of: chances[s.Operation], P: s.P}
	case *spec.Chance:
		return media.Chance{Of: chances[s.Operation], P: s.P}
	case *spec.RandomRotation:
		return &media.Rotation{Degrees: s.Degrees, Center: center(s.Center), Expand: s.Expand, Interpolation: filters[s.Interpolation], Fill: fill(s.Fill), Bare: bare(s.Arithmetic, s.Fill)}
	case *spec.RandomAffine:
		return &media.Affine{Degrees: s.Degrees, Center: center(s.Center), Translate: s.Translate, Scale: s.Scale, ShearX: s.ShearX, ShearY: s.ShearY, Interpolation: filters[s.Interpolation], Fill: fill(s.Fill), Bare: bare(s.Arithmetic, s.Fill)}
	case *spec.RandomPerspective:
		return &media.Perspective{P: s.P, Scale: s.DistortionScale, Interpolation: filters[s.Interpolation], Fill: fill(s.Fill), Bare: bare(s.Arithmetic, s.Fill)}
	case *spec.RandomZoomOut:
		return &media.ZoomOut{P: s.P, Sides: s.SideRange, Fill: fill(s.Fill)}
	case *spec.RandomIoUCrop:
		return &media.IoUCrop{Scale: s.Scale, Ratio: s.Ratio, Options: s.Options, Trials: s.Trials}
	case *spec.CV2Autocontrast:
		return &media.CV2Autocontrast{P: s.P, Cutoff: s.Cutoff, Even: s.Method == "pil"}
	case *spec.SaltAndPepper:
		return &media.Salt{P: s.P, Amount: s.Amount, White: s.White}
	case *spec.PlanckianJitter:
		return &media.Planckian{P: s.P, Kelvin: s.Kelvin, Daylight: s.Mode == "cied", Normal: s.Sampling == "gaussian"}
	case *spec.Erasing:
		return &media.Erasing{P: s.P, Scale: s.Scale, Ratio: s.Ratio, Fill: fill(s.Fill)}
	case *spec.RandomShadow:
		return &media.Shadow{P: s.P, Part: s.ROI, Count: s.Count, Corners: s.Corners, Intensity: s.Intensity}
	case *spec.AdvancedBlur:
		return &media.AdvancedBlur{P: s.P, Size: s.Size, SigmaX: s.SigmaX, SigmaY: s.SigmaY, Angle: s.Rotate, Beta: s.Beta, Noise: s.Noise}
	case *spec.Defocus:
		return &media.Defocus{P: s.P, Radius: s.Radius, Alias: s.Alias}
	case *spec.RingingOvershoot:
		return &media.Ringing{P: s.P, Size: s.Size, Cutoff: s.Cutoff}
	case *spec.GlassBlur:
		return &media.Glass{P: s.P, Sigma: s.Sigma, Delta: s.MaxDelta, Times: s.Iterations, Exact: s.Mode == "exact"}
	case *spec.ZoomBlur:
		return &media.ZoomBlur{P: s.P, Most: s.Max, Step: s.Step}
	case *spec.RandomFog:
		return &media.Fog{P: s.P, Intensity: s.Intensity, Alpha: s.Alpha}
	case *spec.RandomRain:
		lines := spec.Rains[s.Type]
		return &media.Rain{P: s.P, Slant: s.Slant, Times: lines[0], Over: lines[1], Length: s.Length, Blur: s.Blur, Brightness: s.Brightness, Fill: fill(s.Fill)}
	case *spec.RandomSnow:
		return &media.Snow{P: s.P, Point: s.Point, Much: s.Brightness}
	case *spec.RandomSunFlare:
		return &media.Flare{P: s.P, Part: s.ROI, Angle: s.Angle, Count: s.Circles, Radius: s.Radius, Fill: fill(s.Fill)}
	case *spec.ShotNoise:
		return &media.Shot{P: s.P, Scale: s.Scale}
	case *spec.FancyPCA:
		return &media.PCA{P: s.P, Alpha: s.Alpha}
	case *spec.Crop:
		return &media.Cut{P: s.P, Left: s.Box[0], Top: s.Box[1], Right: s.Box[2], Bottom: s.Box[3]}
	case *spec.RandomCropFromBorders:
		return &media.CutBorders{P: s.P, Left: s.Left, Right: s.Right, Top: s.Top, Bottom: s.Bottom}
	case *spec.CropAndPad:
		return &media.CutSides{P: s.P, By: s.By, Pixels: s.Pixels, Same: s.Same, KeepSize: s.KeepSize, Interpolation: filters[s.Interpolation], Padding: paddings[s.Padding], Fill: fill(s.Fill)}
	case *spec.BBoxSafeRandomCrop:
		return &media.CutSafely{P: s.P, Erosion: s.Erosion, Sized: sized(s.Extent, s.Interpolation)}
	case *spec.AtLeastOneBBoxRandomCrop:
		return &media.CutAround{P: s.P, Erosion: s.Erosion, Size: media.Size{H: s.Height, W: s.Width}}
	case *spec.ResizedCrop:
		return &media.CutResized{P: s.P, Crop: media.RandomCrop{Scale: s.RandomResizedCrop.Scale, Ratio: s.Ratio, Height: s.PartHeight}, Sized: sized(s.Extent, s.Interpolation)}
	case *spec.RandomScale:
		return &media.Rescale{P: s.P, By: s.Scale, Interpolation: filters[s.Interpolation]}
	case *spec.ElasticTransform:
		return &media.Elastic{P: s.P, Alpha: s.Alpha, Sigma: s.Sigma, Interpolation: filters[s.Interpolation], Fill: fill(s.Fill)}
	case *spec.CV2Perspective:
		return &media.CV2Perspective{P: s.P, Scale: s.Scale, Bent: bent(&s.Taken)}
	case *spec.CV2Elastic:
		return &media.CV2Elastic{P: s.P, Alpha: s.Alpha, Sigma: s.Sigma, Approximate: s.Approximate, Same: s.Same, Uniform: s.Numbers == spec.Uniform, Bent: bent(&s.Taken)}
	case *spec.OpticalDistortion:
		return &media.Optical{P: s.P, Limit: s.Limit, Bent: bent(&s.Taken)}
	case *spec.GridDistortion:
		return &media.GridDistortion{P: s.P, Steps: s.NumSteps, Limit: s.Limit, Normalized: s.Normalized, Bent: bent(&s.Taken)}
	case *spec.PiecewiseAffine:
		return &media.Piecewise{P: s.P, Scale: s.Scale, Rows: s.Rows, Columns: s.Columns, Pixels: s.Pixels, Interpolation: filters[s.Interpolation]}
	case *spec.RandomGridShuffle:
		return &media.Shuffle{P: s.P, Grid: s.Grid}
	case *spec.Augment:
		return &media.Augment{
			Kind: augmentations[s.Kind], Ops: s.NumOps, Magnitude: s.Magnitude, Bins: s.Bins, Policy: policies[s.Policy], Interpolation: filters[s.Interpolation], Fill: fill(s.Fill), Bare: bare(s.Arithmetic, s.Fill),
			Timm: media.TimmLevels{P: s.P, Std: s.MagnitudeStd, Max: s.MagnitudeMax, Uniform: s.Uniform, Increasing: s.Increasing, AnyFilter: s.AnyFilter},
		}
	case *spec.AugMix:
		return &media.Augment{
			Kind: media.AugMix, Magnitude: s.Severity, Interpolation: filters[s.Interpolation], Fill: fill(s.Fill), Bare: bare(s.Arithmetic, s.Fill),
			Mix: media.Mix{Width: s.MixtureWidth, Depth: max(0, s.ChainDepth), Alpha: s.Alpha, Fewer: !s.AllOps},
		}
	case *spec.ColorJitter:
		return jitter(s)
	case *spec.RandomPhotometricDistort:
		return (*media.Distort)(jitter((*spec.ColorJitter)(s)))
	case *spec.GaussianBlur:
		return &media.Blur{P: s.P, Size: s.KernelSize, Sigma: s.Sigma}
	case *spec.Solarize:
		return &media.Solarize{P: s.P, Threshold: s.Threshold}
	case *spec.Posterize:
		return &media.Posterize{P: s.P, Bits: s.Bits}
	case *spec.AdjustSharpness:
		return &media.Sharpness{P: s.P, Factor: s.Factor}
	case *spec.RandomBrightnessContrast:
		return &media.Light{P: s.P, Brightness: s.Brightness, Contrast: s.Contrast}
	case *spec.RandomGamma:
		return &media.Gamma{P: s.P, Gamma: s.Gamma}
	case *spec.CV2Affine:
		return &media.CV2Affine{
			P: s.P, Degrees: s.Degrees, ShiftX: s.Translate[0], ShiftY: s.Translate[1], Pixels: s.Pixels, ScaleX: s.Scale[0], ScaleY: s.Scale[1], KeepRatio: s.KeepRatio, Fit: s.Fit,
			ShearX: s.Shear[0], ShearY: s.Shear[1], Interpolation: filters[s.Interpolation], Padding: paddings[s.Padding], Fill: fill(s.Fill),
		}
	case *spec.HueSaturationValue:
		return &media.HSV{P: s.P, By: [3][2]float64{s.Hue, s.Saturation, s.Value}}
	case *spec.RGBShift:
		return &media.RGBShift{P: s.P, By: [3][2]float64{s.Red, s.Green, s.Blue}}
	case *spec.CV2ColorJitter:
		return (*media.CV2Jitter)(jitter((*spec.ColorJitter)(s)))
	case *spec.Kernel:
		if s.Operation == "box_blur" {
			return &media.BoxBlur{P: s.P, Size: s.Size}
		}
		return &media.Median{P: s.P, Size: s.Size}
	case *spec.CV2GaussianBlur:
		return &media.CV2Blur{P: s.P, Sigma: s.Sigma, Size: s.Size}
	case *spec.MotionBlur:
		return &media.Motion{Kernel: media.Kernel{P: s.P, Size: s.Size}, Angle: s.Angle, Direction: s.Direction, Shifted: s.Shifted}
	case *spec.CoarseDropout:
		return &media.Holes{P: s.P, Parts: *parts(&s.Parts), Fill: fill(s.Fill)}
	case *spec.CLAHE:
		return &media.CLAHE{P: s.P, Limit: s.Limit, Across: s.Tiles[0], Down: s.Tiles[1]}
	case *spec.GridDropout:
		return &media.GridHoles{P: s.P, Ratio: s.Ratio, Cells: s.Grid, Unit: s.UnitSize, Anywhere: s.Anywhere, Shift: s.Shift, Fill: fill(s.Fill)}
	case *spec.PixelDropout:
		return &media.Specks{P: s.P, Share: s.Share, Each: s.PerChannel, Fill: fill(s.Fill)}
	case *spec.Downscale:
		return &media.Downscale{P: s.P, Scale: s.Scale}
	case *spec.Morphological:
		return &media.Morph{P: s.P, Erode: s.Erosion, Size: s.Size}
	case *spec.ISONoise:
		return &media.ISO{P: s.P, Shift: s.ColorShift, Intensity: s.Intensity}
	case *spec.MultiplicativeNoise:
		return &media.Multiply{P: s.P, By: s.Multiplier, Each: s.PerChannel, Elements: s.Elementwise}
	case *spec.Effect:
		if s.Operation == "sharpen" {
			return &media.Sharpen{P: s.P, Alpha: s.Alpha, By: s.By}
		}
		return &media.Emboss{P: s.P, Alpha: s.Alpha, By: s.By}
	case *spec.UnsharpMask:
		return &media.Unsharp{Kernel: media.Kernel{P: s.P, Size: s.Size}, Sigma: s.Sigma, Alpha: s.Alpha, Threshold: s.Threshold}
	case *spec.RandomToneCurve:
		return &media.ToneCurve{P: s.P, Scale: s.Scale, Each: s.PerChannel}
	case *spec.ChannelDropout:
		return &media.DropChannels{P: s.P, Count: s.Channels, Fill: uint8(s.Fill)}
	case *spec.RemapClasses:
		return (*media.Remap)(s.Table())
	case *spec.GaussianNoise:
		return &media.Noise{P: s.P, Mean: s.Mean, Sigma: s.Sigma}
	case *spec.JPEG:
		return &media.JPEG{P: s.P, Quality: s.Quality, BGR: s.BGR}
	}
	panic("no step of core/media is " + s.Name())
}

// chances are the steps that have a probability alone.
var chances = map[string]media.Simple{
	"horizontal_flip": media.Flip, "vertical_flip": media.VFlip, "random_rotate90": media.Quarters, "transpose": media.Transpose, "random_channel_permutation": media.Permute,
	"grayscale": media.Grayscale, "invert": media.Invert, "autocontrast": media.Autocontrast, "equalize": media.Equalize,
	"cv2_grayscale": media.CV2Gray, "to_sepia": media.Sepia, "cv2_equalize": media.CV2Equalize,
}

var augmentations = map[string]media.Augmentation{
	spec.RandAugment: media.RandAugment, spec.TrivialAugmentWide: media.TrivialAugmentWide, spec.AutoAugment: media.AutoAugment, spec.TimmRandAugment: media.TimmRandAugment,
}

var policies = map[string]media.Policy{spec.PolicyImageNet: media.ImageNet, spec.PolicyCIFAR10: media.CIFAR10, spec.PolicySVHN: media.SVHN}

// VideoConfig says the video section in core/media/video's words.
func VideoConfig(v *spec.Video) video.Config {
	c := video.Config{
		Image: PictureConfig(&v.Frame), Frames: v.Frames, Select: selectionOf(v), AsSent: !v.Frame.Orient, Stream: v.Stream, Threads: v.Threads, Filter: v.Filter,
		Approximate: v.Approximate, Budget: v.Timeout,
	}
	c.Hardware = v.Hardware
	c.Axes = map[string]video.Axes{spec.NTCHW: video.TCHW, spec.NCTHW: video.CTHW}[v.Layout]
	c.Scaler = map[string]video.Scaler{string(spec.Bilinear): video.SWBilinear, string(spec.Bicubic): video.SWBicubic, spec.Area: video.SWArea}[v.Scaler]
	if v.Over == spec.CutOff {
		c.Over = video.Cut
	}
	c.Colour = map[string]video.Colour{spec.Torchcodec: video.Torchcodec, spec.Accurate: video.Accurate}[v.Colour]
	return c
}

var videoKinds = map[string]video.Kind{
	spec.SelectAll: video.All, spec.SelectUniform: video.Uniform, spec.SelectSegments: video.Segments, spec.SelectEvery: video.Every,
	spec.SelectIndices: video.AtIndices, spec.SelectTimes: video.AtTimes, spec.SelectFPS: video.FPS, spec.SelectKeyFrames: video.KeyFrames,
	spec.ClipsAtRandomIndices: video.ClipsRandomIndices, spec.ClipsAtRegularIndices: video.ClipsRegularIndices,
	spec.ClipsAtRandomTimes: video.ClipsRandomTimes, spec.ClipsAtRegularTimes: video.ClipsRegularTimes,
}

func selectionOf(v *spec.Video) video.Selection {
	s := &v.Select
	c := video.Selection{
		Kind: videoKinds[s.Kind], Count: v.Frames, Step: s.Step, Rate: s.Rate, Indices: s.Indices, Times: s.Times, Nearest: s.Nearest, Random: s.Random,
		Clips: s.Clips, ClipFrames: s.ClipFrames, Between: s.Between, BetweenSecs: s.BetweenSecs, BetweenClips: s.BetweenClips,
		RangeStart: s.From, RangeEnd: s.To, Given: s.Column != "", Clamp: s.Clamp,
	}
	c.Policy = map[string]video.Policy{spec.WrapClip: video.Wrap, spec.ClipError: video.Refuse}[s.Policy]
	if w := v.Window; w != (spec.Window{}) {
		end := math.Inf(1)
		if w.Duration > 0 {
			end = (w.Start + w.Duration).Seconds()
		}
		c.Window = &[2]float64{w.Start.Seconds(), end}
	}
	return c
}

// AudioConfig says the audio section in core/media/audio's words. Of a second data set it finds the files; errors name the key below section.
func AudioConfig(a *spec.Audio, section string) (c audio.Config, err error) {
	c = audio.Config{
		Rate: a.Rate, Channels: a.Channels, Select: a.Select, Length: a.Length, DType: a.DType, MaxFrames: a.MaxFrames, Budget: a.Timeout, Filter: a.Filter, Speed: a.Speed,
		Resample:  audio.Resample{Width: a.Resample.Width, Rolloff: a.Resample.Rolloff, Doubles: a.Resample.Filters == spec.FiltersF64},
		Normalize: audio.Normalize{Level: a.Normalize.Level},
		Invert:    a.Inversion, PreEmphasis: a.PreEmphasis,
	}
	if w := a.Window; w.Of == "" { // else a clip says it, of each sample
		c.Window = audio.Window{Start: w.Start.Seconds(), Duration: w.Duration.Seconds()}
	}
	c.Crop = map[string]audio.Crop{spec.Start: audio.CropStart, spec.Center: audio.CropCentre, spec.Random: audio.CropRandom}[a.Crop]
	switch a.Resample.Method {
	case spec.SincKaiser:
		c.Resample.Method, c.Resample.Beta = audio.SincKaiser, a.Resample.Beta
	case spec.SWResample:
		c.Resample = audio.Resample{Method: audio.SWResample}
	case spec.SoxrHQ:
		c.Resample = audio.Resample{Method: audio.SoxrHQ}
	}
	c.Normalize.To = map[string]audio.Loudness{spec.Peak: audio.ToPeak, spec.Loudness: audio.ToIntegrated, spec.Standard: audio.ToStandard}[a.Normalize.To]
	if n := a.Noise; n != nil {
		c.Noise = &audio.Noise{Low: n.SNR[0], High: n.SNR[1], P: n.P, Colour: map[string]audio.Colour{spec.Pink: audio.Pink, spec.Brown: audio.Brown}[n.Color]}
		if c.Noise.Files, err = filesOf(&n.SoundFiles, section+".noise.from"); err != nil {
			return c, err
		}
	}
	if r := a.Reverb; r != nil {
		c.Reverb = &audio.Reverb{P: r.P}
		if c.Reverb.Files, err = filesOf(&r.SoundFiles, section+".reverb.from"); err != nil {
			return c, err
		}
	}
	if g := a.Gain; g != nil {
		c.Gain = &audio.Gain{Low: g.DB[0], High: g.DB[1], P: g.P}
	}
	if a.Layout == spec.NLC {
		c.Layout = audio.TimeFirst
	}
	if a.Features != nil {
		c.Features = featuresOf(a.Features)
	}
	if r := a.Raw; r != nil {
		c.Raw = &audio.Raw{Encoding: encodings[r.Encoding], Rate: r.Rate, Channels: r.Channels}
	}
	return c, nil
}

var encodings = map[string]audio.Encoding{"u8": audio.U8, "s16": audio.S16, "s24": audio.S24, "s32": audio.S32, "f32": audio.F32, "f64": audio.F64}

func featuresOf(f *spec.Features) *audio.Features {
	c := &audio.Features{
		FFT: f.FFT, Win: f.Win, Hop: f.Hop, Magnitude: f.Power == 1, Inside: !f.Centered, Unit: f.Normalized,
		Mels: f.Mels, Low: f.Low, High: f.High, SlaneyNorm: f.Norm == spec.Slaney, TopDB: f.TopDB, Coefficients: f.Count, Mean: f.Mean, Std: f.Std,
	}
	c.Kind = map[string]audio.Kind{spec.Mel: audio.Mel, spec.MFCC: audio.MFCC, spec.Whisper: audio.Whisper, spec.Fbank: audio.Fbank}[f.Kind]
	c.Window, c.Int16 = map[string]audio.WindowType{spec.Hanning: audio.Hanning, spec.Hamming: audio.Hamming}[f.Window], f.Int16
	c.Mirrored = f.Mirrored
	c.Log = map[string]audio.Log{spec.Decibel: audio.Decibel, spec.NaturalLog: audio.NaturalLog, spec.Log10: audio.Log10}[f.Log]
	c.Zeros, c.Doubles, c.Reference, c.OfLargest, c.Floor = f.Zeros, f.Doubles, f.Reference, f.OfLargest, f.Floor
	c.CMVN = map[string]audio.CMVN{spec.CMVNMean: audio.Mean, spec.CMVNMeanVariance: audio.MeanVariance}[f.CMVN]
	if f.Scale == spec.Slaney {
		c.Scale = audio.Slaney
	}
	c.Padding, c.Silence = f.Padding, f.Silence
	c.FrequencyMask, c.TimeMask, c.MaskValue, c.MaskMean = maskOf(f.FrequencyMask), maskOf(f.TimeMask), f.MaskValue, f.MaskMean
	return c
}

func maskOf(m *spec.AxisMask) *audio.Mask {
	if m == nil {
		return nil
	}
	return &audio.Mask{Param: m.Param, Count: m.Count, P: m.P, IID: m.IID}
}
