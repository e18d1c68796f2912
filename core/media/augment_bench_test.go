package media

import (
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// usage is this thread's.
func usage(t testing.TB) (u syscall.Rusage) {
	const ofThread = 1
	if err := syscall.Getrusage(ofThread, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// used is the processor time of this thread.
func used(t testing.TB) time.Duration {
	u := usage(t)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What a row of 224 x 224 costs besides its decoding, in time of a processor: bench/augment.py holds it beside Pillow. The first is the
// way without.
func BenchmarkAugment(b *testing.B) {
	const side = 224
	w, err := NewWorker(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	pixels := make([]byte, 4*side*side+PictureSlack)
	m := testPicture(side, side)
	for i := range side * side {
		r, g, bl, _ := m.At(i%side, i/side).RGBA()
		copy(pixels[4*i:], []byte{byte(r >> 8), byte(g >> 8), byte(bl >> 8), 255})
	}
	augment := func(kind Augmentation, filter Interpolation) Config {
		return Config{Steps: Steps(&Augment{Kind: kind, Ops: 2, Magnitude: 9, Bins: 31, Interpolation: filter})}
	}
	ofTensors := func(c Config) Config {
		for i := range c.Steps {
			c.Steps[i].ByTorch = true
		}
		return c
	}
	jittered := &Jitter{P: 1, Brightness: &[2]float64{0.6, 1.4}, Contrast: &[2]float64{0.6, 1.4}, Saturation: &[2]float64{0.6, 1.4}, Hue: &[2]float64{-0.1, 0.1}}
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"none", Config{}},
		{"rand_augment", augment(RandAugment, Nearest)},
		{"trivial_augment_wide", augment(TrivialAugmentWide, Nearest)},
		{"auto_augment", augment(AutoAugment, Nearest)},
		{"rand_augment_bilinear", augment(RandAugment, Bilinear)},
		{"random_rotation", Config{Steps: Steps(&Rotation{Degrees: [2]float64{-30, 30}, Interpolation: Nearest})}},
		{"random_rotation_bilinear", Config{Steps: Steps(&Rotation{Degrees: [2]float64{-30, 30}})}},
		{"random_rotation_bicubic", Config{Steps: Steps(&Rotation{Degrees: [2]float64{-30, 30}, Interpolation: Bicubic})}},
		{"rand_augment_of_tensors", ofTensors(augment(RandAugment, Nearest))},
		{"trivial_augment_wide_of_tensors", ofTensors(augment(TrivialAugmentWide, Nearest))},
		{"random_rotation_of_tensors", ofTensors(Config{Steps: Steps(&Rotation{Degrees: [2]float64{-30, 30}, Interpolation: Nearest})})},
		{"random_rotation_bilinear_of_tensors", ofTensors(Config{Steps: Steps(&Rotation{Degrees: [2]float64{-30, 30}})})},
		{"elastic_transform", Config{Steps: Steps(&Elastic{P: 1, Alpha: [2]float64{50, 50}, Sigma: 5})}},
		{"border_of_fill", Config{Anywhere: true, Pad: Around(16)}},
		{"border_mirrored", Config{Anywhere: true, Pad: Around(16), Padding: Reflect}},
		{"floats", Config{DType: F32}},
		{"erased", Config{DType: F32, Erase: &Erase{P: 1}}},
		{"erased_by_noise", Config{DType: F32, Erase: &Erase{P: 1, Noise: true}}},
		{"gaussian_blur", Config{Steps: Steps(&Blur{P: 1, Size: 23, Sigma: [2]float64{0.1, 2}})}},
		{"solarize", Config{Steps: Steps(&Solarize{P: 1, Threshold: 128})}},
		{"adjust_sharpness", Config{Steps: Steps(&Sharpness{P: 1, Factor: 2})}},
		{"autocontrast", Config{Steps: Steps(Chance{Autocontrast, 1})}},
		{"equalize", Config{Steps: Steps(Chance{Equalize, 1})}},
		{"random_rotate90", Config{Steps: Steps(Chance{Quarters, 1})}},
		{"adjust_sharpness_of_tensors", Config{Steps: []Placed{{Step: &Sharpness{P: 1, Factor: 2}, ByTorch: true}}}},
		{"grayscale", Config{Steps: Steps(Chance{Grayscale, 1})}},
		{"grayscale_of_tensors", Config{Steps: []Placed{{Step: Chance{Grayscale, 1}, ByTorch: true}}}},
		{"color_jitter", Config{Steps: Steps(jittered)}},
		{"color_jitter_of_tensors", Config{Steps: []Placed{{Step: jittered, ByTorch: true}}}},
		{"random_photometric_distort", Config{Steps: Steps(&Distort{P: 0.5, Brightness: &[2]float64{0.875, 1.125}, Contrast: &[2]float64{0.5, 1.5}, Saturation: &[2]float64{0.5, 1.5}, Hue: &[2]float64{-0.05, 0.05}})}},
		{"random_channel_permutation", Config{Steps: Steps(Chance{Permute, 1})}},
		{"gaussian_noise", Config{Steps: Steps(&Noise{P: 1, Sigma: [2]float64{0.1, 0.1}})}},
		{"cv2_affine", Config{Steps: Steps(unmoved(func(a *CV2Affine) { a.Degrees, a.Padding = [2]float64{-45, 45}, Reflect }))}},
		{"cv2_affine_of_fill", Config{Steps: Steps(unmoved(func(a *CV2Affine) { a.Degrees = [2]float64{-45, 45} }))}},
		{"random_brightness_contrast", Config{Steps: Steps(&Light{1, [2]float64{-0.2, 0.2}, [2]float64{0.8, 1.2}})}},
		{"random_gamma", Config{Steps: Steps(&Gamma{1, [2]float64{0.8, 1.2}})}},
		{"cv2_grayscale", Config{Steps: Steps(Chance{CV2Gray, 1})}},
		{"hue_saturation_value", Config{Steps: Steps(&HSV{1, [3][2]float64{{-20, 20}, {-30, 30}, {-20, 20}}})}},
		{"rgb_shift", Config{Steps: Steps(&RGBShift{1, [3][2]float64{{-20, 20}, {-20, 20}, {-20, 20}}})}},
		{"cv2_color_jitter", Config{Steps: Steps(&CV2Jitter{P: 1, Brightness: &[2]float64{0.8, 1.2}, Contrast: &[2]float64{0.8, 1.2}, Saturation: &[2]float64{0.8, 1.2}, Hue: &[2]float64{-0.5, 0.5}})}},
		{"box_blur", Config{Steps: Steps(&BoxBlur{1, [2]int{3, 7}})}},
		{"box_blur_31", Config{Steps: Steps((*BoxBlur)(exactly(31)))}},
		{"median_blur", Config{Steps: Steps(&Median{1, [2]int{3, 7}})}},
		{"median_blur_3", Config{Steps: Steps((*Median)(exactly(3)))}},
		{"median_blur_5", Config{Steps: Steps((*Median)(exactly(5)))}},
		{"median_blur_7", Config{Steps: Steps((*Median)(exactly(7)))}},
		{"median_blur_11", Config{Steps: Steps((*Median)(exactly(11)))}},
		{"median_blur_15", Config{Steps: Steps((*Median)(exactly(15)))}},
		{"median_blur_31", Config{Steps: Steps((*Median)(exactly(31)))}},
		{"cv2_gaussian_blur", Config{Steps: Steps(&CV2Blur{1, [2]float64{0.5, 3}, [2]int{}})}},
		{"motion_blur", Config{Steps: Steps(&Motion{Kernel{1, [2]int{3, 7}}, [2]float64{0, 360}, [2]float64{-1, 1}, true})}},
		{"clahe", Config{Steps: Steps(&CLAHE{1, [2]float64{1, 4}, 8, 8})}},
		{"transpose", Config{Steps: Steps(Chance{Transpose, 1})}},
		{"sharpen", Config{Steps: Steps(&Sharpen{1, [2]float64{0.2, 0.5}, [2]float64{0.5, 1}})}},
		{"unsharp_mask", Config{Steps: Steps(&Unsharp{Kernel{1, [2]int{3, 7}}, [2]float64{}, [2]float64{0.2, 0.5}, 10})}},
		{"emboss", Config{Steps: Steps(&Emboss{1, [2]float64{0.2, 0.5}, [2]float64{0.2, 0.7}})}},
		{"to_sepia", Config{Steps: Steps(Chance{Sepia, 1})}},
		{"random_tone_curve", Config{Steps: Steps(&ToneCurve{1, 0.1, false})}},
		{"channel_dropout", Config{Steps: Steps(&DropChannels{1, [2]int{1, 1}, 0})}},
		{"cv2_equalize", Config{Steps: Steps(Chance{CV2Equalize, 1})}},
		{"cv2_perspective", Config{Steps: Steps(&CV2Perspective{1, [2]float64{0.05, 0.1}, Bent{Interpolation: CV2Linear}})}},
		{"grid_dropout", Config{Steps: Steps(&GridHoles{P: 1, Ratio: 0.5, Anywhere: true})}},
		{"pixel_dropout", Config{Steps: Steps(&Specks{P: 1, Share: 0.01})}},
		{"downscale", Config{Steps: Steps(&Downscale{1, [2]float64{0.25, 0.25}})}},
		{"multiplicative_noise", Config{Steps: Steps(&Multiply{P: 1, By: [2]float64{0.9, 1.1}})}},
		{"multiplicative_noise_of_elements", Config{Steps: Steps(&Multiply{P: 1, By: [2]float64{0.9, 1.1}, Elements: true})}},
		{"morphological", Config{Steps: Steps(&Morph{1, false, [2]int{2, 3}})}},
		{"morphological_9", Config{Steps: Steps(&Morph{1, false, [2]int{9, 9}})}},
		{"iso_noise", Config{Steps: Steps(&ISO{1, [2]float64{0.01, 0.05}, [2]float64{0.1, 0.5}})}},
		{"random_grid_shuffle", Config{Steps: Steps(&Shuffle{1, [2]int{3, 3}})}},
		{"optical_distortion", Config{Steps: Steps(&Optical{1, [2]float64{-0.05, 0.05}, Bent{Interpolation: CV2Linear}})}},
		{"cv2_elastic_transform", Config{Steps: Steps(&CV2Elastic{P: 1, Alpha: 120, Sigma: 6, Bent: Bent{Interpolation: CV2Linear}})}},
		{"piecewise_affine", Config{Steps: Steps(&Piecewise{1, [2]float64{0.03, 0.05}, [2]int{4, 4}, [2]int{4, 4}, false, CV2Linear})}},
		{"grid_distortion", Config{Steps: Steps(&GridDistortion{1, 5, [2]float64{-0.3, 0.3}, true, Bent{Interpolation: CV2Linear}})}},
		{"cv2_autocontrast", Config{Steps: Steps(&CV2Autocontrast{P: 1})}},
		{"salt_and_pepper", Config{Steps: Steps(&Salt{1, [2]float64{0.01, 0.06}, [2]float64{0.4, 0.6}})}},
		{"planckian_jitter", Config{Steps: Steps(&Planckian{P: 1, Kelvin: [2]float64{3000, 15000}})}},
		{"erasing", Config{Steps: Steps(&Erasing{1, [2]float64{0.02, 0.33}, [2]float64{0.3, 3.3}, Fill{}})}},
		{"random_shadow", Config{Steps: Steps(&Shadow{1, Rect{0, 0.5, 1, 1}, [2]int{1, 2}, 5, [2]float64{0.5, 0.5}})}},
		{"advanced_blur", Config{Steps: Steps(&AdvancedBlur{1, [2]int{3, 7}, [2]float64{0.2, 1}, [2]float64{0.2, 1}, [2]float64{-90, 90}, [2]float64{0.5, 8}, [2]float64{0.9, 1.1}})}},
		{"defocus", Config{Steps: Steps(&Defocus{1, [2]int{3, 10}, [2]float64{0.1, 0.5}})}},
		{"ringing_overshoot", Config{Steps: Steps(&Ringing{1, [2]int{7, 15}, [2]float64{math.Pi / 4, math.Pi / 2}})}},
		{"glass_blur", Config{Steps: Steps(&Glass{1, 0.7, 4, 2, false})}},
		{"zoom_blur", Config{Steps: Steps(&ZoomBlur{1, [2]float64{1, 1.31}, [2]float64{0.01, 0.03}})}},
		{"random_fog", Config{Steps: Steps(&Fog{1, [2]float64{0.3, 1}, 0.08})}},
		{"random_rain", Config{Steps: Steps(&Rain{1, [2]float64{-10, 10}, 1, 3, 0, 7, 0.7, Fill{200, 200, 200}})}},
		{"random_snow", Config{Steps: Steps(&Snow{1, [2]float64{0.1, 0.3}, 2.5})}},
		{"random_sun_flare", Config{Steps: Steps(&Flare{1, Rect{0, 0, 1, 0.5}, [2]float64{0, 1}, [2]int{6, 10}, 400, Fill{255, 255, 255}})}},
		{"shot_noise", Config{Steps: Steps(&Shot{1, [2]float64{0.1, 0.3}})}},
		{"fancy_pca", Config{Steps: Steps(&PCA{1, 0.1})}},
		{"crop_and_pad", Config{Ahead: Steps(&CutSides{P: 1, By: [4][2]float64{{-9, 9}, {-9, 9}, {-9, 9}, {-9, 9}}, Pixels: true, KeepSize: true, Interpolation: CV2Linear})}},
		{"resized_crop", Config{Ahead: Steps(&CutResized{1, RandomCrop{}, Sized{Square(side), CV2Linear}})}},
		{"random_scale", Config{Ahead: Steps(&Rescale{1, [2]float64{0.9, 1.1}, CV2Linear})}},
		{"coarse_dropout", Config{Steps: Steps(&Holes{1, Parts{[2]int{1, 2}, [2]float64{0.1, 0.2}, [2]float64{0.1, 0.2}, false}, Fill{}})}},
		{"jpeg", Config{Steps: Steps(&JPEG{P: 1, Quality: [2]int{30, 95}})}},
	} {
		c.cfg.Out = Square(side)
		timed(b, c.name, w, &Picture{Pixels: unsafe.Pointer(&pixels[0]), StrideBytes: 4 * side, Width: side, Height: side, Orientation: 1}, c.cfg)
	}
}

// What resizing 500 x 375 to 224 x 224 costs, besides decoding.
func BenchmarkResize(b *testing.B) {
	w, err := NewWorker(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	pixels := splitmix(1, 4*500*375+PictureSlack)
	for name, by := range map[string]Interpolation{"resize_bilinear": Bilinear, "resize_bicubic": Bicubic, "resize_torch_bilinear": TorchBilinear, "resize_torch_bicubic": TorchBicubic} {
		timed(b, name, w, &Picture{Pixels: unsafe.Pointer(&pixels[0]), StrideBytes: 4 * 500, Width: 500, Height: 375, Orientation: 1}, Config{Random: &RandomCrop{Scale: [2]float64{0.9, 1}}, Out: Square(224), Interpolation: by})
	}
}

// timed is a benchmark of making rows of a picture, each of draws of its own.
func timed(b *testing.B, name string, w *Worker, p *Picture, cfg Config) {
	op, err := Compile(cfg)
	if err != nil {
		b.Fatal(err)
	}
	row := make([]byte, op.RowBytes())
	b.Run(name, func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		b.ReportAllocs()
		began := used(b)
		for i := range b.N {
			if _, err := w.Picture(row, p, op, Draw{Seed: 5, Index: uint64(i)}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(used(b)-began)/float64(b.N), "cpu-ns/op")
	})
}
